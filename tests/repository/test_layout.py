"""The layout's own rules: who may import whom, what is packaged, what the core install needs."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = {
    "agentrl.core": 1,
    "agentrl.sandboxes": 2,
    "agentrl.tools": 2,
    "agentrl.envs": 3,
    "agentrl.wrappers": 3,
    "agentrl.inference": 4,
    "agentrl.rollout": 4,
    "agentrl.store": 4,
    "agentrl.trainers": 5,
    "agentrl.check": 6,
    "agentrl.evaluate": 6,
    "agentrl.benchmarks": 6,
    "agentrl.cli": 7,
}
FOLDERS = {
    "agentrl": "agentrl",
    "envs": "agentrl.envs",
    "tools": "agentrl.tools",
    "sandboxes": "agentrl.sandboxes",
}
FOLDERS |= {"trainers": "agentrl.trainers", "benchmarks": "agentrl.benchmarks"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def modules() -> dict[str, Path]:
    found = {}
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join((package, *(part for part in parts if part != "__init__")))] = path
    return found


def floor(module: str) -> int | None:
    return next(
        (number for name, number in FLOORS.items() if module == name or module.startswith(name + ".")), None
    )


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
    return names


def test_a_module_imports_only_from_its_own_floor_or_lower():
    wrong = []
    for module, path in modules().items():
        own = floor(module)
        for name in imports(path):
            other = floor(name)
            if (
                own is not None
                and other is not None
                and other > own
                and (module, name) != ("agentrl.core.plugin", "agentrl.envs")
            ):
                wrong.append(f"{module} (floor {own}) imports {name} (floor {other})")
    assert not wrong, "\n".join(sorted(wrong))


def test_every_package_is_listed_in_pyproject():
    found = set()
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join((package, *path.parent.relative_to(ROOT / folder).parts)))
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def test_torch_is_imported_at_the_top_only_where_the_extra_is_certain():
    """The core install has no torch: the command line, the checker, evaluation and the store import without it."""
    program = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('torch', 'transformers', 'renderers', 'peft', 'pyarrow', 'docker'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import agentrl, agentrl.cli.app, agentrl.check, agentrl.evaluate.evaluate, agentrl.store.export\n"
        "from agentrl.cli.app import run\n"
        "assert run(['envs', '--json']) == 0\n"
        "assert run(['methods', '--json']) == 0\n"
        "sys.exit(run(['train', 'search-tiny']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd="/", timeout=120
    )
    assert done.returncode == 2, done.stderr
    assert "agentrl-toolkit[train]" in done.stderr


@pytest.mark.parametrize(
    "name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs/architecture.md"]
)
def test_the_documents_are_there(name):
    assert len((ROOT / name).read_text()) > 200
