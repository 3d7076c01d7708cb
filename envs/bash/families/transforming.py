"""Tasks that rewrite, rename and rearrange."""

from __future__ import annotations

import re
from posixpath import basename
from random import Random

from agentrl.envs.bash.task import Expected, File, Gone, ShellFamily, ShellProblem, Text, Tree
from agentrl.envs.bash.tree import HEADER, KEYS, LEVELS, STATUSES, WORDS, contents, files, logs, orders

REST = "Change nothing else."


def renamed(rng: Random, tree: Tree) -> ShellProblem:
    folder = rng.choice(("notes", "src", "data", "logs"))
    ending = rng.choice(
        {"notes": (".txt", ".md"), "src": (".py", ".sh", ".c"), "data": (".csv",), "logs": (".log",)}[folder]
    )
    new = rng.choice((".old", ".keep", ".v1", ".orig"))
    before = rng.random() < 0.4
    expected: dict[str, Expected] = {}
    for path in files(tree, f"{folder}/", ending):
        head, name = path[: -len(basename(path))], basename(path).removesuffix(ending)
        target = f"{head}{name}{new}{ending}" if before else f"{head}{name}{new}"
        item = tree[path]
        assert isinstance(item, File)
        expected |= {path: Gone(), target: item}
    how = f"from `NAME{ending}` to `NAME{new}{ending}`" if before else f"from `NAME{ending}` to `NAME{new}`"
    final = f"{new}{ending}" if before else new
    return ShellProblem(
        f"Rename every regular file below `{folder}/` (at any depth, hidden ones too) whose name ends in `{ending}` {how}, in its folder. "
        f"Contents and permissions stay. {REST}",
        tree,
        f"find {folder} -type f -name '*{ending}' -print0 | while IFS= read -r -d '' f; do mv -- \"$f\" \"${{f%{ending}}}{final}\"; done",
        expected,
    )


def columns(rng: Random, tree: Tree) -> ShellProblem:
    names = HEADER.split(",")
    kept = rng.sample(range(5), rng.randint(2, 3))
    separator, shown = rng.choice((("\t", "a tab"), (";", "`;`"), ("|", "`|`")))
    ending = {"\t": "tsv", ";": "ssv", "|": "psv"}[separator]
    folder = rng.choice(("out", "export", "converted"))
    expected: dict[str, Expected] = {}
    for path in files(tree, "data/", ".csv"):
        rows = [line.split(",") for line in contents(tree, path).splitlines()]
        lines = [separator.join(row[column] for column in kept) for row in rows]
        expected[f"{folder}/{path.removeprefix('data/').removesuffix('csv')}{ending}"] = Text(
            "\n".join(lines)
        )
    order = ", ".join(f"`{names[column]}`" for column in kept)
    fields = f' "{separator}" '.join(f"${column + 1}" for column in kept)
    return ShellProblem(
        f"For every table `data/REGION/NAME.csv` write `{folder}/REGION/NAME.{ending}` with only the columns {order}, in this order, header line "
        f"included, separated by {shown}. Rows keep their order. {REST}",
        tree,
        f'find data -name \'*.csv\' | while read f; do o={folder}/${{f#data/}}; o=${{o%csv}}{ending}; mkdir -p "$(dirname "$o")"; '
        f'awk -F, \'{{print {fields}}}\' "$f" > "$o"; done',
        expected,
    )


def divided(rng: Random, tree: Tree) -> ShellProblem:
    column, what = rng.choice(((2, "LEVEL"), (4, "VERB")))
    folder = rng.choice(("split", "parts", "sorted"))
    numbered = rng.random() < 0.4
    parts: dict[str, list[str]] = {}
    for _, lines in logs(tree):
        for line in lines:
            parts.setdefault(line[column], []).append(" ".join(line))
    expected: dict[str, Expected] = {}
    for key, lines in parts.items():
        shown = [f"{number} {line}" for number, line in enumerate(lines, start=1)] if numbered else lines
        expected[f"{folder}/{key}.log"] = Text("\n".join(shown))
    count = ", each line with its number in that file and a blank before it, from 1" if numbered else ""
    number = f'++n[${column + 1}] " " ' if numbered else ""
    return ShellProblem(
        f"Lines of `logs/*.log` look like `DATE CLOCK LEVEL SERVICE VERB WORD id=N dur=Nms`. Distribute all lines to files "
        f"`{folder}/{what}.log` (one for each {what.lower()} that occurs), taking the logs in the order of their names (`LC_ALL=C sort`) and their "
        f"lines in order{count}. The logs themselves stay. {REST}",
        tree,
        f'mkdir {folder}; export LC_ALL=C; for f in logs/*.log; do cat "$f"; done | awk \'{{print {number}$0 > ("{folder}/" ${column + 1} ".log")}}\'',
        expected,
    )


def assigned(rng: Random, tree: Tree) -> ShellProblem:
    key = rng.choice(KEYS)
    value = rng.choice((str(rng.randint(10, 99999)), f"/opt/{rng.choice(WORDS)}", rng.choice(WORDS)))
    add = rng.random() < 0.5
    expected: dict[str, Expected] = {}
    for path in files(tree, "config/", ".conf"):
        lines = contents(tree, path).splitlines()
        fresh = [f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in lines]
        if add and f"{key} = {value}" not in fresh:
            fresh.append(f"{key} = {value}")
        if fresh != lines:
            expected[path] = File(("\n".join(fresh) + "\n").encode())
    if not expected:
        return assigned(rng, tree)
    rest = (
        "Where it has no such line, add one at its end."
        if add
        else "Files without such a line stay as they are."
    )
    append = f'grep -q "^{key} = " "$f" || echo "{key} = {value}" >> "$f"; ' if add else ""
    return ShellProblem(
        f"In every `config/*.conf`, change the line `{key} = ...` to `{key} = {value}`, at its place. {rest} Comments and all other lines stay. {REST}",
        tree,
        f'for f in config/*.conf; do {append}sed -i "s|^{key} = .*|{key} = {value}|" "$f"; done',
        expected,
    )


def merged(rng: Random, tree: Tree) -> ShellProblem:
    rows = orders(tree)
    tables = files(tree, "data/", ".csv")
    for row in rng.sample(rows, min(len(rows), rng.randint(4, 8))):
        path = rng.choice(tables)
        status = rng.choice(STATUSES)
        tree[path] = File(contents(tree, path).encode() + ",".join([*row[:4], status]).encode() + b"\n")
    last = rng.random() < 0.5
    descending = rng.random() < 0.4
    name = f"{rng.choice(WORDS)}.csv"
    chosen: dict[str, list[str]] = {}
    for row in orders(tree):
        if last or row[0] not in chosen:
            chosen[row[0]] = row
    order = sorted(chosen.values(), key=lambda row: int(row[0]), reverse=descending)
    script = f"""python3 - <<'END'
import glob
chosen = {{}}
for path in sorted(glob.glob("data/*/*.csv")):
    for line in open(path).read().splitlines()[1:]:
        row = line.split(",")
        if {last} or row[0] not in chosen:
            chosen[row[0]] = line
lines = sorted(chosen.values(), key=lambda line: int(line.split(",")[0]), reverse={descending})
open("{name}", "w").write("{HEADER}\\n" + "".join(line + "\\n" for line in lines))
END"""
    return ShellProblem(
        f"Merge the tables `data/*/*.csv` (columns `{HEADER}`, a header line each) into `{name}`: one header line, then one row for each `order_id`, in "
        f"{'descending' if descending else 'ascending'} numeric order. Where an id occurs more than once, the {'last' if last else 'first'} row "
        f"counts, the tables being read in the order of their paths (`LC_ALL=C sort`). {REST}",
        tree,
        script,
        {name: Text("\n".join([HEADER, *(",".join(row) for row in order)]))},
    )


def redacted(rng: Random, tree: Tree) -> ShellProblem:
    level = rng.choice(("", *LEVELS[:3]))
    long = rng.random() < 0.5
    mask = rng.choice(("***", "[id]", "0"))
    expected: dict[str, Expected] = {}
    for path in files(tree, "logs/", ".log"):
        lines = contents(tree, path).splitlines()
        fresh = []
        for line in lines:
            chosen = not level or line.split()[2] == level
            fresh.append(re.sub(r"id=\d{4,}" if long else r"id=\d+", f"id={mask}", line) if chosen else line)
        if fresh != lines:
            expected[path] = File(("\n".join(fresh) + "\n").encode())
    if not expected:
        return redacted(rng, tree)
    which = f"In lines of level `{level}` (the third word) of" if level else "In all lines of"
    digits = "of four digits or more " if long else ""
    address = f"/^[^ ]+ [^ ]+ {level} /" if level else ""
    count = "[0-9]{4,}" if long else "[0-9]+"
    return ShellProblem(
        f"{which} `logs/*.log`, replace the number {digits}after `id=` by `{mask}`, in place. Everything else in these files stays. {REST}",
        tree,
        f"sed -i -E '{address}s/id={count}/id={mask}/' logs/*.log",
        expected,
    )


FAMILIES = (
    ShellFamily("rename-endings", "transform", "easy", renamed),
    ShellFamily("convert-tables", "transform", "medium", columns),
    ShellFamily("split-logs", "transform", "medium", divided),
    ShellFamily("set-option", "transform", "easy", assigned),
    ShellFamily("merge-tables", "transform", "hard", merged),
    ShellFamily("redact-ids", "transform", "medium", redacted),
)
