"""Tasks that find files."""

from __future__ import annotations

from collections import defaultdict
from posixpath import dirname, join, normpath
from random import Random

from agentrl.envs.bash.task import File, Link, ShellFamily, ShellProblem, Text, Tree
from agentrl.envs.bash.tree import WORDS, contents, files, logs, text

SORTED = "one path a line, relative to the workspace (without a leading `./`), sorted as `LC_ALL=C sort` does"


def answer(statement: str, tree: Tree, lines: list[str], script: str, name: str) -> ShellProblem:
    """A problem whose whole answer is one file."""
    return ShellProblem(
        f"{statement}\n\nChange nothing else.",
        tree,
        script,
        {name: Text("".join(f"{line}\n" for line in lines))},
    )


def larger(rng: Random, tree: Tree) -> ShellProblem:
    ending = rng.choice((".log", ".csv", ".txt", ".md"))
    more = rng.random() < 0.7
    limit = rng.randint(2, 20) * 50
    name = f"{rng.choice(WORDS)}.txt"
    sizes = {path: len(tree[path].content) for path in files(tree, ending=ending)}  # type: ignore[union-attr]
    found = [path for path, size in sizes.items() if (size > limit if more else size < limit)]
    word, sign = ("more", "+") if more else ("less", "-")
    return answer(
        f"List all regular files (no links) whose name ends in `{ending}` and that hold {word} than {limit} bytes, anywhere in "
        f"the workspace, hidden folders too. Write the list to `{name}`: {SORTED}.",
        tree,
        sorted(found),
        f"find . -type f -name '*{ending}' -size {sign}{limit}c | sed 's|^\\./||' | LC_ALL=C sort > .list; mv .list {name}",
        name,
    )


def mentions(rng: Random, tree: Tree) -> ShellProblem:
    folder = rng.choice(("notes", "src", "logs", "config"))
    word = rng.choice((*WORDS, "TODO", "FIXME", "ERROR"))
    without = rng.random() < 0.4
    name = f"{rng.choice(WORDS)}.list"
    found = [path for path in files(tree, f"{folder}/") if (word in contents(tree, path)) != without]
    verb = "do not hold" if without else "hold"
    flag = "-L" if without else "-l"
    return answer(
        f"Which regular files below `{folder}/` {verb} the text `{word}` (exactly these letters, also inside of longer words)? "
        f"Write them to `{name}`: {SORTED}.",
        tree,
        found,
        f"find {folder} -type f -exec grep {flag} -F -e '{word}' {{}} + | LC_ALL=C sort > .list; mv .list {name}",
        name,
    )


def duplicates(rng: Random, tree: Tree) -> ShellProblem:
    pool = [path for path in files(tree) if tree[path].content]  # type: ignore[union-attr]
    for index, path in enumerate(rng.sample(pool, rng.randint(3, 5))):
        folder = rng.choice(("copies", "notes/old", "cache"))
        tree[f"{folder}/{rng.choice(WORDS)}-{index}{rng.choice(('.dat', '.bak', '.copy'))}"] = File(
            tree[path].content
        )  # type: ignore[union-attr]
    separator, shown = rng.choice(
        (("\t", "a tab"), (" | ", "` | ` (blank, bar, blank)"), (";", "a semicolon"))
    )
    name = f"{rng.choice(WORDS)}.txt"
    groups = defaultdict(list)
    for path in files(tree):
        if content := tree[path].content:  # type: ignore[union-attr]
            groups[content].append(path)
    lines = sorted(separator.join(sorted(group)) for group in groups.values() if len(group) > 1)
    script = f"""python3 - <<'END'
import collections, os
groups = collections.defaultdict(list)
for folder, _, names in os.walk("."):
    for name in names:
        path = os.path.join(folder, name)[2:]
        if not os.path.islink(path) and os.path.getsize(path):
            groups[open(path, "rb").read()].append(path)
lines = sorted({separator!r}.join(sorted(group)) for group in groups.values() if len(group) > 1)
open("{name}", "w").write("".join(line + "\\n" for line in lines))
END"""
    return answer(
        f"Find regular files that have the same content as another one (empty files and links do not count), anywhere in the "
        f"workspace. Write to `{name}` one line for each such group: its paths, relative to the workspace, sorted as "
        f"`LC_ALL=C sort` does and joined by {shown}; the lines sorted in the same way.",
        tree,
        lines,
        script,
        name,
    )


def nowhere(rng: Random, tree: Tree) -> ShellProblem:
    real = files(tree)
    for index in range(rng.randint(6, 10)):
        folder = rng.choice(("current", "links", "notes", "src/web"))
        good = rng.random() < 0.5
        target = rng.choice(real) if good else f"lost/{rng.choice(WORDS)}-{index}"
        tree[f"{folder}/{rng.choice(WORDS)}-{index}.lnk"] = Link("../" * (folder.count("/") + 1) + target)
    name = f"{rng.choice(WORDS)}.txt"
    arrow, shown = rng.choice(((" -> ", "` -> `"), (" : ", "` : `")))
    broken = []
    for path, item in tree.items():
        if isinstance(item, Link) and normpath(join(dirname(path), item.target)) not in tree:
            broken.append(f"{path}{arrow}{item.target}")
    return answer(
        f"Find the symbolic links that lead nowhere, anywhere in the workspace. Write one line for each to `{name}`: the path of "
        f"the link relative to the workspace, {shown}, and its target as it is stored; sorted as `LC_ALL=C sort` does.",
        tree,
        sorted(broken),
        f"find . -xtype l -printf '%P{arrow}%l\\n' | LC_ALL=C sort > .list; mv .list {name}",
        name,
    )


def scripts(rng: Random, tree: Tree) -> ShellProblem:
    for index, word in enumerate(rng.sample(WORDS, rng.randint(6, 9))):
        ending = rng.choice((".sh", ".py", "", ".pl"))
        start = rng.choice(("#!/bin/sh\n", "#!/usr/bin/env python3\n", "# plain\n", "", " #!/bin/sh\n"))
        tree[f"bin/{word}-{index}{ending}"] = text(f"{start}echo {word}\n", rng.choice((0o755, 0o755, 0o644)))
    name = f"{rng.choice(WORDS)}.txt"
    executable = rng.random() < 0.5
    found = []
    for path in files(tree):
        item = tree[path]
        assert isinstance(item, File)
        if bool(item.mode & 0o100) is executable and item.content.startswith(b"#!") is not executable:
            found.append(path)
    what = (
        "are executable for their owner but do not begin with `#!`"
        if executable
        else "begin with `#!` but are not executable for their owner"
    )
    permission = "-perm -u+x" if executable else "! -perm -u+x"
    compare = "!=" if executable else "=="
    return answer(
        f"Which regular files, anywhere in the workspace, {what} (as their very first two bytes)? Write them to `{name}`: {SORTED}.",
        tree,
        found,
        f"find . -type f {permission} -print0 | while IFS= read -r -d '' f; do "
        f'[[ "$(head -c 2 "$f" | tr -d "\\0")" {compare} "#!" ]] && printf "%s\\n" "${{f#./}}"; done | LC_ALL=C sort > .list; mv .list {name}',
        name,
    )


def newest(rng: Random, tree: Tree) -> ShellProblem:
    which = rng.choice(("latest", "earliest"))
    name = f"{rng.choice(WORDS)}.txt"
    best: dict[str, str] = {}
    for path, _ in logs(tree):
        service, _, date = path.removeprefix("logs/").removesuffix(".log").partition("-")
        if service not in best or ((date > best[service]) == (which == "latest")):
            best[service] = date
    order = "tail" if which == "latest" else "head"
    return answer(
        f"The logs in `logs/` are called `SERVICE-YYYY-MM-DD.log`. For each service find the log with the {which} date in its name, "
        f"and write to `{name}` one line `SERVICE YYYY-MM-DD` for each service, sorted by service.",
        tree,
        [f"{service} {date}" for service, date in sorted(best.items())],
        f'ls logs | sed \'s/-.*//\' | sort -u | while read s; do echo "$s $(ls logs | grep "^$s-" | sort | {order} -1 | '
        f'sed "s/^$s-//; s/.log$//")"; done > .list; mv .list {name}',
        name,
    )


FAMILIES = (
    ShellFamily("find-by-size", "find", "easy", larger),
    ShellFamily("find-by-content", "find", "easy", mentions),
    ShellFamily("find-duplicates", "find", "hard", duplicates),
    ShellFamily("find-broken-links", "find", "medium", nowhere),
    ShellFamily("find-scripts", "find", "medium", scripts),
    ShellFamily("find-extreme-logs", "find", "medium", newest),
)
