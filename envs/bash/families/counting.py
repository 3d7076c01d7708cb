"""Tasks that count and sum."""

from __future__ import annotations

import re
from collections import Counter
from posixpath import basename
from random import Random

from agentrl.envs.bash.families.finding import answer
from agentrl.envs.bash.task import File, ShellFamily, ShellProblem, Tree
from agentrl.envs.bash.tree import STATUSES, WORDS, contents, files, logs, orders


def levels(rng: Random, tree: Tree) -> ShellProblem:
    column, what = rng.choice(((2, "level"), (3, "service"), (4, "verb"), (5, "last word before `id=`")))
    by_count = rng.random() < 0.5
    name = f"{rng.choice(WORDS)}.txt"
    counts = Counter(line[column] for _, lines in logs(tree) for line in lines)
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]) if by_count else (item[0],))
    told = "by descending count, equal counts by name" if by_count else "by name"
    sort = "LC_ALL=C sort -k2,2nr -k1,1" if by_count else "LC_ALL=C sort"
    return answer(
        "Lines of the logs `logs/*.log` look like `DATE CLOCK LEVEL SERVICE VERB WORD id=N dur=Nms`. Over all of these logs "
        f"together, count the lines for each {what} (field {column + 1}). Write one line `NAME COUNT` for each to `{name}`, "
        f"sorted {told}.",
        tree,
        [f"{key} {count}" for key, count in order],
        f"cat logs/*.log | awk '{{n[${column + 1}]++}} END {{for (k in n) print k, n[k]}}' | {sort} > .list; mv .list {name}",
        name,
    )


def endings(rng: Random, tree: Tree) -> ShellProblem:
    folder = rng.choice(("", "notes/", "src/", "data/"))
    name = f"{rng.choice(WORDS)}.txt"
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path in files(tree, folder):
        base = basename(path).lstrip(".")
        ending = base.rpartition(".")[2] if "." in base else "none"
        item = tree[path]
        assert isinstance(item, File)
        counts[ending] += 1
        sizes[ending] += len(item.content)
    where = f"below `{folder}`" if folder else "in the whole workspace"
    script = f"""python3 - <<'END'
import collections, os
n, s = collections.Counter(), collections.Counter()
for folder, _, names in os.walk("./{folder}"):
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            base = name.lstrip(".")
            e = base.rpartition(".")[2] if "." in base else "none"
            n[e] += 1
            s[e] += os.path.getsize(path)
open("{name}", "w").write("".join(f"{{e}} {{n[e]}} {{s[e]}}\\n" for e in sorted(n)))
END"""
    return answer(
        f"For the regular files (no links) {where}, hidden ones too, write to `{name}` one line `ENDING COUNT BYTES` for each ending of "
        "a file name (what comes after its last dot, once leading dots are removed; `none` where no dot is left), sorted by "
        "ending as `LC_ALL=C sort` does.",
        tree,
        [f"{ending} {counts[ending]} {sizes[ending]}" for ending in sorted(counts)],
        script,
        name,
    )


def words(rng: Random, tree: Tree) -> ShellProblem:
    folder = rng.choice(("notes", "src", "logs"))
    top = rng.randint(5, 12)
    least = rng.randint(4, 6)
    name = f"{rng.choice(WORDS)}.txt"
    counts: Counter[str] = Counter()
    for path in files(tree, f"{folder}/"):
        counts.update(
            word for word in re.findall("[a-z]+", contents(tree, path).lower()) if len(word) >= least
        )
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]
    return answer(
        f"Over all regular files below `{folder}/`: a word is a longest run of the letters A to Z, in lower case (`Ab1c` holds `ab` and "
        f"`c`). Find the {top} most frequent words of at least {least} letters; of equally frequent ones those that come first in the "
        f"alphabet. Write one line `WORD COUNT` for each to `{name}`, by descending count, then by the alphabet.",
        tree,
        [f"{word} {count}" for word, count in order],
        f"find {folder} -type f -exec awk 1 {{}} + | LC_ALL=C tr 'A-Z' 'a-z' | LC_ALL=C tr -cs 'a-z' '\\n' | awk 'length($0) >= {least}' | "
        f"sort | uniq -c | LC_ALL=C sort -k1,1nr -k2,2 | head -{top} | awk '{{print $2, $1}}' > .list; mv .list {name}",
        name,
    )


def sums(rng: Random, tree: Tree) -> ShellProblem:
    status = rng.choice(STATUSES)
    column, what = rng.choice(((2, "region"), (1, "customer")))
    without = rng.random() < 0.4
    name = f"{rng.choice(WORDS)}.csv"
    totals: Counter[str] = Counter()
    for row in orders(tree):
        if (row[4] == status) != without:
            totals[row[column]] += int(row[3].replace(".", ""))
    test = "!=" if without else "=="
    return answer(
        "The tables `data/*/*.csv` have the columns `order_id,customer,region,amount,status` and a header line each. Sum the amounts "
        f"of the orders whose status is {'not ' if without else ''}`{status}` for each {what}. Write to `{name}` the header "
        f"`{what},total` and one line for each {what} that has such an order, sorted by name, totals with two decimals.",
        tree,
        [
            f"{what},total",
            *(f"{key},{cents // 100}.{cents % 100:02}" for key, cents in sorted(totals.items())),
        ],
        f'(echo {what},total; tail -q -n +2 data/*/*.csv | awk -F, \'$5 {test} "{status}" {{c[${column + 1}] += int($4 * 100 + 0.5)}} '
        f'END {{for (k in c) printf "%s,%d.%02d\\n", k, int(c[k] / 100), c[k] % 100}}\' | LC_ALL=C sort) > .list; mv .list {name}',
        name,
    )


def hours(rng: Random, tree: Tree) -> ShellProblem:
    width = rng.choice((1, 2, 3, 4, 6))
    level = rng.choice(("INFO", "DEBUG", ""))
    name = f"{rng.choice(WORDS)}.txt"
    counts: Counter[int] = Counter()
    for _, lines in logs(tree):
        counts.update(int(line[1][:2]) // width for line in lines if not level or line[2] == level)
    filter_ = f'$3 == "{level}" ' if level else ""
    which = f"lines of level `{level}`" if level else "lines"
    return answer(
        f"Lines of `logs/*.log` begin with `DATE HH:MM:SS LEVEL`. Count the {which} of all these logs together in blocks of {width} hour"
        f"{'s' if width > 1 else ''}, the first beginning at 00. Write to `{name}` one line `HH COUNT` for each block of the day, empty ones "
        "too (count 0), where HH is the two-digit hour at which the block begins; in the order of the day.",
        tree,
        [f"{block * width:02} {counts[block]}" for block in range(24 // width)],
        f"cat logs/*.log | awk '{filter_}{{n[int(substr($2, 1, 2) / {width})]++}} END {{for (b = 0; b < {24 // width}; b++) "
        f'printf "%02d %d\\n", b * {width}, n[b]}}\' > .list; mv .list {name}',
        name,
    )


def slow(rng: Random, tree: Tree) -> ShellProblem:
    limit = rng.randint(6, 36) * 25
    name = f"{rng.choice(WORDS)}.txt"
    counts: Counter[str] = Counter()
    longest: dict[str, int] = {}
    for _, lines in logs(tree):
        for line in lines:
            milliseconds = int(line[7].removeprefix("dur=").removesuffix("ms"))
            counts[line[3]] += milliseconds > limit
            longest[line[3]] = max(longest.get(line[3], 0), milliseconds)
    return answer(
        "Lines of `logs/*.log` look like `DATE CLOCK LEVEL SERVICE VERB WORD id=N dur=Nms`. For each service, over all logs, write to "
        f"`{name}` one line `SERVICE SLOW LONGEST`: how many of its lines have a dur of more than {limit} ms, and its longest dur in "
        "milliseconds (a number without unit); sorted by service.",
        tree,
        [f"{service} {counts[service]} {longest[service]}" for service in sorted(longest)],
        "cat logs/*.log | sed -E 's/dur=([0-9]+)ms/\\1/' | awk '{if (!($4 in m) || $8 > m[$4]) m[$4] = $8 + 0; "
        f"n[$4] += ($8 > {limit})}} END {{for (s in m) print s, n[s] + 0, m[s]}}' | LC_ALL=C sort > .list; mv .list {name}",
        name,
    )


FAMILIES = (
    ShellFamily("count-fields", "count", "easy", levels),
    ShellFamily("count-endings", "count", "medium", endings),
    ShellFamily("count-words", "count", "medium", words),
    ShellFamily("sum-amounts", "count", "medium", sums),
    ShellFamily("count-hours", "count", "easy", hours),
    ShellFamily("count-slow", "count", "medium", slow),
)
