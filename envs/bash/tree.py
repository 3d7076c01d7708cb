"""A varied tree of files, as on a small server: logs, tables, settings, notes, sources, odd names, links.

Everything that tasks compute is computed from this data, never by running a command.
"""

from __future__ import annotations

from random import Random

from agentrl.envs.bash.task import File, Link, Tree

SERVICES = ("auth", "billing", "gateway", "mailer", "search", "uploads", "worker", "catalog")
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
REGIONS = ("north", "south", "east", "west", "islands")
STATUSES = ("paid", "open", "refunded", "failed")
WORDS = [
    "anchor",
    "basket",
    "candle",
    "desert",
    "engine",
    "forest",
    "garden",
    "harbor",
    "island",
    "jacket",
    "kettle",
    "ladder",
    "magnet",
    "needle",
    "orange",
    "pillow",
    "quartz",
    "ribbon",
    "saddle",
    "tunnel",
    "umbrella",
    "velvet",
    "window",
    "yellow",
    "zipper",
    "bridge",
    "copper",
    "dragon",
    "ember",
    "falcon",
    "glacier",
    "hollow",
]
VERBS = ("started", "finished", "retried", "refused", "accepted", "queued", "dropped", "loaded")
KEYS = ("timeout", "retries", "workers", "cache_size", "log_level", "port", "batch", "endpoint", "ttl")
HEADER = "order_id,customer,region,amount,status"


def text(content: str, mode: int = 0o644) -> File:
    return File(content.encode(), mode)


def build(rng: Random) -> Tree:
    """A tree of about forty to ninety files."""
    tree: Tree = {}
    services = rng.sample(SERVICES, rng.randint(3, 5))
    for service in services:
        for day in sorted(rng.sample(range(1, 28), rng.randint(2, 4))):
            tree[f"logs/{service}-2024-{rng.randint(1, 6):02}-{day:02}.log"] = text(log(rng, service, day))
    number = rng.randint(1000, 4000)
    for region in rng.sample(REGIONS, rng.randint(2, 4)):
        for part in range(rng.randint(1, 3)):
            rows, number = table(rng, region, number)
            tree[f"data/{region}/orders-{part + 1}.csv"] = text(rows)
    for service in services:
        tree[f"config/{service}.conf"] = text(settings(rng, service))
    for name in rng.sample(WORDS, rng.randint(6, 10)):
        folder = rng.choice(("notes", "notes/old", "notes/2024", "docs"))
        ending = rng.choice((".txt", ".md"))
        tree[f"{folder}/{odd(rng, name)}{ending}"] = text(prose(rng))
    for name in rng.sample(WORDS, rng.randint(5, 8)):
        ending = rng.choice((".py", ".sh", ".c"))
        mode = 0o755 if ending == ".sh" and rng.random() < 0.6 else 0o644
        tree[f"src/{rng.choice(('core', 'tools', 'web'))}/{name}{ending}"] = text(source(rng, ending), mode)
    for name in rng.sample(WORDS, rng.randint(3, 6)):
        tree[f"{rng.choice(('cache', 'notes', '.hidden'))}/{name}.tmp"] = text("x" * rng.randint(0, 400))
    targets = [path for path in tree if path.startswith("logs/")]
    for service in services[:2]:
        newest = max(path for path in targets if path.startswith(f"logs/{service}-"))
        tree[f"current/{service}.log"] = Link(f"../{newest}")
    tree["current/archive.log"] = Link("../logs/removed-long-ago.log")
    return tree


def log(rng: Random, service: str, day: int) -> str:
    lines, second = [], rng.randint(0, 4000)
    for _ in range(rng.randint(12, 40)):
        second = min(86399, second + rng.randint(20, 4200))
        clock = f"{second // 3600:02}:{second % 3600 // 60:02}:{second % 60:02}"
        level = rng.choices(LEVELS, (3, 6, 2, 1))[0]
        lines.append(
            f"2024-{day:02} {clock} {level} {service} {rng.choice(VERBS)} {rng.choice(WORDS)} id={rng.randint(100, 99999)} "
            f"dur={rng.randint(1, 950)}ms"
        )
    return "\n".join(lines) + "\n"


def table(rng: Random, region: str, number: int) -> tuple[str, int]:
    rows = [HEADER]
    for _ in range(rng.randint(6, 20)):
        number += rng.randint(1, 9)
        amount = f"{rng.randint(1, 400)}.{rng.randint(0, 99):02}"
        rows.append(f"{number},{rng.choice(WORDS)},{region},{amount},{rng.choice(STATUSES)}")
    return "\n".join(rows) + "\n", number


def settings(rng: Random, service: str) -> str:
    lines = [f"# settings of {service}"]
    for key in rng.sample(KEYS, rng.randint(4, 7)):
        value = rng.choice((str(rng.randint(1, 9000)), rng.choice(WORDS), f"/srv/{rng.choice(WORDS)}"))
        lines.append(f"{key} = {value}")
        if rng.random() < 0.2:
            lines.append(f"# {rng.choice(WORDS)} {rng.choice(VERBS)}")
    return "\n".join(lines) + "\n"


def prose(rng: Random) -> str:
    lines = []
    for _ in range(rng.randint(3, 14)):
        words = [rng.choice(WORDS) for _ in range(rng.randint(3, 10))]
        if rng.random() < 0.25:
            words.insert(0, "TODO")
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def source(rng: Random, ending: str) -> str:
    start = {".py": "#!/usr/bin/env python3\n", ".sh": "#!/bin/sh\n", ".c": "#include <stdio.h>\n"}[ending]
    mark = "//" if ending == ".c" else "#"
    body = [
        f"{mark} {rng.choice(('TODO', 'FIXME', 'note'))}: {rng.choice(WORDS)}"
        for _ in range(rng.randint(1, 6))
    ]
    return (start if rng.random() < 0.7 else "") + "\n".join(body) + "\n"


def odd(rng: Random, name: str) -> str:
    """Mostly the name; sometimes what makes careless scripts stumble."""
    return rng.choice((name, name, name, f"{name} {rng.choice(WORDS)}", f"-{name}", f"{name}-é", f".{name}"))


def contents(tree: Tree, path: str) -> str:
    found = tree[path]
    assert isinstance(found, File)
    return found.content.decode()


def files(tree: Tree, start: str = "", ending: str = "") -> list[str]:
    """Paths of files (not links) that begin and end so, sorted."""
    return sorted(
        path
        for path, item in tree.items()
        if isinstance(item, File) and path.startswith(start) and path.endswith(ending)
    )


def logs(tree: Tree) -> list[tuple[str, list[list[str]]]]:
    """Each log with the words of its lines: date, clock, level, service, verb, word, id=N, dur=Nms."""
    return [
        (path, [line.split() for line in contents(tree, path).splitlines()])
        for path in files(tree, "logs/", ".log")
    ]


def orders(tree: Tree) -> list[list[str]]:
    """Rows of every table: order_id, customer, region, amount, status."""
    return [
        line.split(",")
        for path in files(tree, "data/", ".csv")
        for line in contents(tree, path).splitlines()[1:]
    ]
