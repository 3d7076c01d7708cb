"""The default image: a minimal Debian with Python, built once on this machine.

Where `debootstrap` is installed it is built from the Debian packages that this machine installs from, with no registry;
elsewhere from the registry's `python:slim`.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from agentrl.sandboxes.base import SandboxFailure, SandboxUnavailable

DEFAULT = "agentrl/sandbox:1"
PACKAGES = "python3,procps"
LEFT_OUT = (
    "var/cache",
    "var/lib/apt/lists",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/log",
    "proc",
    "sys",
    "dev",
)
DOCKERFILE = """FROM python:3.12-slim
RUN ln -sf "$(command -v python3)" /usr/bin/python3 && useradd --uid 1000 --home /workspace sandbox
LABEL agentrl.image=1
"""
SECONDS = 900
_building = threading.Lock()
Say = Callable[[str], None]


def ensure(client: Any, image: str = "") -> str:
    """The name of an image that is there; the default one is built if it is not.

    Raises:
        SandboxUnavailable: no such image, or no way to build the default one.
    """
    import docker

    name = image or DEFAULT
    with _building:
        try:
            client.images.get(name)
        except docker.errors.ImageNotFound:
            if image and image != DEFAULT:
                raise SandboxUnavailable(
                    f"no image {image!r} here: `docker pull {image}`, or `agentrl sandbox build --image {image} "
                    "--dockerfile FOLDER`, or leave the image out for the default one"
                ) from None
            build(client, say=complain)
    return name


def complain(text: str) -> None:
    print(f"agentrl: {text}", file=sys.stderr, flush=True)


def build(client: Any, *, source: str = "auto", say: Say = complain) -> str:
    """Build the default image.

    Args:
        source: `debootstrap`, `registry`, or `auto`.

    Returns:
        Its name.

    Raises:
        SandboxUnavailable: what is missing, and the command that helps.
    """
    can_bootstrap = shutil.which("debootstrap") is not None and os.geteuid() == 0
    if source == "debootstrap" and not can_bootstrap:
        raise SandboxUnavailable(
            "debootstrap must be installed and run as root: apt-get install -y debootstrap"
        )
    if source == "debootstrap" or (source == "auto" and can_bootstrap):
        say(f"building the image {DEFAULT} with debootstrap (once, about a minute)")
        bootstrap(client)
    else:
        say(f"building the image {DEFAULT} from python:3.12-slim (once)")
        from_registry(client)
    return DEFAULT


def from_registry(client: Any) -> None:
    import docker

    context = io.BytesIO(DOCKERFILE.encode())
    try:
        client.images.build(fileobj=context, tag=DEFAULT, rm=True, forcerm=True, timeout=SECONDS)
    except docker.errors.DockerException as error:
        raise SandboxUnavailable(
            f"the image {DEFAULT} cannot be built from the registry ({str(error).splitlines()[0][:200]}): without a "
            "registry, `apt-get install -y debootstrap` and `agentrl sandbox build` as root"
        ) from None


def build_folder(client: Any, name: str, folder: Path, *, seconds: float = SECONDS) -> str:
    """An image from a folder with a Dockerfile, within `seconds` of silence.

    Raises:
        SandboxUnavailable: it cannot be built; the message carries the last line that the engine said.
    """
    import docker

    if not (folder / "Dockerfile").is_file():
        raise SandboxUnavailable(f"no Dockerfile in {folder}")
    try:
        client.images.build(path=str(folder), tag=name, rm=True, forcerm=True, timeout=int(seconds))
    except docker.errors.DockerException as error:
        raise SandboxUnavailable(
            f"{folder / 'Dockerfile'} cannot be built: {str(error).splitlines()[0][:300]}"
        ) from None
    return name


def bootstrap(client: Any) -> None:
    """From Debian packages. Takes about a minute and 300 MB of temporary space."""
    suite, mirror = host_distribution()
    with tempfile.TemporaryDirectory(prefix="agentrl-image-") as folder:
        root = Path(folder, "root")
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(root), *mirror]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode != 0:
            last = (done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["?"])[-1]
            raise SandboxUnavailable(f"debootstrap could not build the image: {last[:300]}")
        with open(root / "etc" / "passwd", "a", encoding="utf-8") as file:
            file.write("sandbox:x:1000:1000::/workspace:/bin/bash\n")
        with open(root / "etc" / "group", "a", encoding="utf-8") as file:
            file.write("sandbox:x:1000:\n")
        archive = Path(folder, "root.tar")
        pack(root, archive)
        changes = ["LABEL agentrl.image=1", 'CMD ["/bin/bash"]', "ENV LANG=C.UTF-8"]
        repository, _, tag = DEFAULT.partition(":")
        said = client.api.import_image(src=str(archive), repository=repository, tag=tag, changes=changes)
        if "error" in said:
            raise SandboxFailure("docker", f"the image could not be imported: {said[:300]}")


def pack(root: Path, archive: Path) -> None:
    """A root file system as a tar file without caches, documentation and device nodes."""

    def kept(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        inside = info.name.removeprefix("./")
        return None if any(inside.startswith(f"{folder}/") for folder in LEFT_OUT) else info

    with tarfile.open(archive, "w") as tar:
        tar.add(root, arcname=".", filter=kept)


def host_distribution() -> tuple[str, list[str]]:
    """The suite of this machine and the mirror it installs from; Debian's stable one elsewhere."""
    release = Path("/etc/os-release")
    text = release.read_text(encoding="utf-8") if release.is_file() else ""
    facts = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    suite = facts.get("VERSION_CODENAME", "").strip('"')
    if facts.get("ID", "").strip('"') not in ("debian", "ubuntu") or not suite:
        return "stable", []
    mirrors = list(apt_mirrors())
    return suite, mirrors[:1]


def apt_mirrors() -> Iterable[str]:
    """Addresses in this machine's package sources, in both of their formats."""
    places = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for place in places:
        if not place.is_file():
            continue
        for line in place.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] == ["deb"] or words[:1] == ["URIs:"]:
                yield from (word for word in words[1:] if word.startswith(("http://", "https://")))
