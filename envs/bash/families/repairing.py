"""Tasks that put right what is broken."""

from __future__ import annotations

import hashlib
from posixpath import basename, dirname, join, normpath, relpath
from random import Random

from agentrl.envs.bash.task import Expected, File, Gone, Lines, Link, ShellFamily, ShellProblem, Tree
from agentrl.envs.bash.tree import WORDS, contents, files, prose, text

REST = "Change nothing else."


def endings(rng: Random, tree: Tree) -> ShellProblem:
    folder = rng.choice(("notes", "config", "src"))
    expected: dict[str, Expected] = {}
    broken = [path for path in files(tree, f"{folder}/") if "\n" in contents(tree, path)]
    for path in rng.sample(broken, max(2, len(broken) * 2 // 3)):
        item = tree[path]
        assert isinstance(item, File)
        tree[path] = File(item.content.replace(b"\n", b"\r\n"), item.mode)
        expected[path] = item
    blanks = rng.random() < 0.5
    if blanks:  # a carriage return in the middle of a line is not an end of line
        path = sorted(expected)[0]
        item = expected[path]
        assert isinstance(item, File)
        expected[path] = File(b"a\rb\n" + item.content, item.mode)
        broken_item = tree[path]
        assert isinstance(broken_item, File)
        tree[path] = File(b"a\rb\r\n" + broken_item.content, broken_item.mode)
    note = " A carriage return elsewhere than before a line feed stays." if blanks else ""
    return ShellProblem(
        f"Some regular files below `{folder}/` have Windows line ends (carriage return and line feed). Turn these into plain line feeds, in place; "
        f"permissions stay.{note} {REST}",
        tree,
        f"find {folder} -type f -print0 | xargs -0 sed -i 's/\\r$//'",
        expected,
    )


def modes(rng: Random, tree: Tree) -> ShellProblem:
    script, other = rng.choice(((0o755, 0o644), (0o750, 0o640), (0o700, 0o600)))
    by_start = rng.random() < 0.5
    folder = rng.choice(("src", "bin"))
    for word in rng.sample(WORDS, rng.randint(5, 8)):
        first = rng.choice(("#!/bin/sh\n", "#!/usr/bin/env python3\n", "", "# notes\n"))
        tree[f"{folder}/{word}{rng.choice(('.sh', '.txt', ''))}"] = text(
            f"{first}{word}\n", rng.choice((0o600, 0o644, 0o755, 0o700))
        )
    expected: dict[str, Expected] = {}
    for path in files(tree, f"{folder}/"):
        item = tree[path]
        assert isinstance(item, File)
        is_script = item.content.startswith(b"#!") if by_start else path.endswith(".sh")
        expected[path] = File(item.content, script if is_script else other)
    what = "begins with `#!`" if by_start else "has a name that ends in `.sh`"
    test = '[ "$(head -c 2 "$f" | tr -d "\\0")" = "#!" ]' if by_start else '[[ "$f" == *.sh ]]'
    return ShellProblem(
        f"Put the permissions below `{folder}/` in order: every regular file that {what} gets {script:o}, every other regular file {other:o}. "
        f"Folders and links stay. {REST}",
        tree,
        f'find {folder} -type f -print0 | while IFS= read -r -d \'\' f; do if {test}; then chmod {script:o} "$f"; else chmod {other:o} "$f"; fi; done',
        expected,
    )


def relinked(rng: Random, tree: Tree) -> ShellProblem:
    names = [f"{word}.{rng.choice(('bin', 'dat', 'lib'))}" for word in rng.sample(WORDS, rng.randint(4, 6))]
    added = rng.choice(("", ".moved", ".2024", ".new", ".kept"))
    scope = rng.choice(("", "links", "src"))
    for name in names:
        place = f"{rng.choice(('store', 'store/deep', 'moved/2024'))}/{name}{added}"
        tree[place] = text(prose(rng))
        for folder in rng.sample(("links", "links/more", "src/web"), rng.randint(2, 3)):
            link = f"{folder}/{rng.choice(('to', 'the'))}-{name}"
            tree[link] = Link(rng.choice(("/var/lost/", "../gone/", "old/")) + name)
    for name in rng.sample(WORDS, 2):
        if f"links/{name}" not in tree:
            tree[f"links/{name}"] = Link(f"nothing/{name}.none")
    places: dict[str, list[str]] = {}
    for path in files(tree):
        places.setdefault(basename(path), []).append(path)
    expected: dict[str, Expected] = {}
    for path, item in tree.items():
        if (
            isinstance(item, Link)
            and path.startswith(scope)
            and normpath(join(dirname(path), item.target)) not in tree
        ):
            found = places.get(basename(item.target) + added, [])
            if len(found) == 1:
                expected[path] = Link(relpath(found[0], dirname(path)))
    where = f"below `{scope}/`" if scope else "in the workspace"
    same = (
        f"is called as the last part of the link's target with `{added}` after it"
        if added
        else "is called as the last part of the link's target"
    )
    return ShellProblem(
        f"Files were moved{' and renamed' if added else ''}, and symbolic links to them are broken. For every broken link {where}: if exactly one regular file of the "
        f"whole workspace {same}, make the link point to that file by a relative target (as `realpath --relative-to` prints it from the link's folder). Other broken "
        f"links stay. {REST}",
        tree,
        f'find ./{scope} -xtype l | while IFS= read -r l; do t=$(basename "$(readlink "$l")"){added}; n=$(find . -type f -name "$t" | wc -l); '
        '[ "$n" = 1 ] || continue; f=$(find . -type f -name "$t"); '
        'ln -sfn "$(realpath --relative-to="$(dirname "$l")" "$f")" "$l"; done',
        expected,
    )


def repeated(rng: Random, tree: Tree) -> ShellProblem:
    last = rng.random() < 0.6
    sign = rng.choice((" = ", "=", ": ", " := "))
    expected: dict[str, Expected] = {}
    for path in files(tree, "config/", ".conf"):
        lines = [line.replace(" = ", sign) for line in contents(tree, path).splitlines()]
        keys = [line.partition(sign)[0] for line in lines if not line.startswith("#")]
        for key in rng.sample(keys, min(len(keys), rng.randint(1, 3))):
            lines.insert(rng.randint(1, len(lines)), f"{key}{sign}{rng.choice(WORDS)}{rng.randint(1, 99)}")
        tree[path] = text("\n".join(lines) + "\n")
        where: dict[str, int] = {}
        for index, line in enumerate(lines):
            key = line.partition(sign)[0]
            if not line.startswith("#") and (last or key not in where):
                where[key] = index
        kept = [line for index, line in enumerate(lines) if line.startswith("#") or index in where.values()]
        expected[path] = text("\n".join(kept) + "\n")
    which = "last" if last else "first"
    rule = "END {for (i = 1; i <= NR; i++) if (line[i] ~ /^#/ || keep[key[i]] == i) print line[i]}"
    note = "keep[key[NR]] = NR" if last else "if (!(key[NR] in keep)) keep[key[NR]] = NR"
    return ShellProblem(
        f"In `config/*.conf` some keys are set more than once (lines `KEY{sign}VALUE`). In each file keep only the {which} line of each key, at its place, and remove the "
        f"others; lines that begin with `#` stay where they are. {REST}",
        tree,
        f'for f in config/*.conf; do awk \'{{line[NR] = $0; split($0, p, "{sign}"); key[NR] = p[1]; if ($0 !~ /^#/) {{{note}}}}} {rule}\' "$f" > .new; '
        'cat .new > "$f"; rm .new; done',
        expected,
    )


def manifest(rng: Random, tree: Tree) -> ShellProblem:
    folder = rng.choice(("data", "src", "config", "logs"))
    kind = rng.choice(("sha256", "sha1", "md5"))
    name = f"{kind.upper()}SUMS"
    lines = []
    for path in files(tree, f"{folder}/"):
        item = tree[path]
        assert isinstance(item, File)
        lines.append(f"{hashlib.new(kind, item.content).hexdigest()}  {path}")
    stale = [line for line in lines if rng.random() < 0.5]
    stale += [
        f"{hashlib.new(kind, word.encode()).hexdigest()}  {folder}/{word}.gone"
        for word in rng.sample(WORDS, 2)
    ]
    tree[name] = text("\n".join(stale) + "\n")
    return ShellProblem(
        f"`{name}` should list every regular file below `{folder}/` (hidden ones too) as `{kind}sum` prints it: the sum, two blanks, the path relative to the workspace. "
        f"It is out of date: some files are missing in it and some that it lists are gone. Bring it up to date; the order of lines does not matter. {REST}",
        tree,
        f"find {folder} -type f -exec {kind}sum {{}} + > .new; cat .new > {name}; rm .new",
        {name: Lines(tuple(lines))},
    )


def restored(rng: Random, tree: Tree) -> ShellProblem:
    ending = rng.choice((".bak", ".orig", ".save"))
    folder = rng.choice(("notes", "config", "data"))
    expected: dict[str, Expected] = {}
    pool = files(tree, f"{folder}/")
    for path in rng.sample(pool, max(2, len(pool) // 2)):
        item = tree[path]
        assert isinstance(item, File)
        if rng.random() < 0.7:
            tree[path + ending] = item
            tree[path] = File(b"", item.mode)
            expected |= {path: item, path + ending: Gone()}
        else:
            tree[path + ending] = text(prose(rng))
    if not expected:
        return restored(rng, tree)
    return ShellProblem(
        f"A crash has left some regular files below `{folder}/` empty. Wherever `NAME` is empty and `NAME{ending}` exists beside it, move `NAME{ending}` to `NAME` (so that "
        f"`NAME{ending}` is gone). Where `NAME` is not empty, both stay. {REST}",
        tree,
        f'find {folder} -type f -empty -print0 | while IFS= read -r -d \'\' f; do [ -e "$f{ending}" ] && mv -- "$f{ending}" "$f"; done; true',
        expected,
    )


FAMILIES = (
    ShellFamily("repair-line-ends", "repair", "easy", endings),
    ShellFamily("repair-permissions", "repair", "easy", modes),
    ShellFamily("repair-links", "repair", "hard", relinked),
    ShellFamily("repair-settings", "repair", "hard", repeated),
    ShellFamily("repair-manifest", "repair", "medium", manifest),
    ShellFamily("repair-from-backup", "repair", "medium", restored),
)
