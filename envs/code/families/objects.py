"""Families of classes that are tested by sequences of calls.

Invariant: every hidden test is a construction and the calls after it, in one process.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Any

from agentrl.envs.code.families.writing import WORDS, fill, guarded, prose
from agentrl.envs.code.task import Call, Family, Problem, Raises, Test, expect, outcomes


def sequences(
    statement: str,
    source: str,
    example: Sequence[Call],
    runs: Sequence[Sequence[Call]],
    properties: Sequence[tuple[str, Sequence[Call], Callable[[list[Any]], bool]]] = (),
) -> Problem:
    """A problem about one class of `solution.py`; the first call of each run constructs it."""
    name = example[0].target.lower()[0]
    lines = []
    for call, answer in zip(example, outcomes(source, example), strict=True):
        given = ", ".join(map(repr, call.args))
        if not call.target.startswith("."):
            lines.append(f"{name} = {call.target}({given})")
        elif isinstance(answer, Raises):
            lines.append(f"{name}{call.target}({given}) raises {answer.name}")
        else:
            lines.append(f"{name}{call.target}({given}) == {answer!r}")
    tests = [expect(f"run-{index}", source, *run) for index, run in enumerate(runs)]
    tests += [Test(title, tuple(run), check=guarded(check)) for title, run, check in properties]
    text = f"{prose(statement)}\n\nExample:\n\n{indent(chr(10).join(lines), '    ')}"
    return Problem(text, {"solution.py": source}, tuple(tests))


def bounded_store(rng: random.Random) -> Problem:
    out = rng.choice(("oldest", "unused", "rarest"))
    touch = rng.random() < 0.5
    missing = rng.choice(("None", "-1", "KeyError"))
    verb = rng.choice(("put", "set", "store"))
    name = rng.choice(("Shelf", "Pantry", "Locker", "Depot"))
    source = fill(
        """
        class <<name>>:
            def __init__(self, size: int):
                if size < 1:
                    raise ValueError("size")
                self.size, self.clock, self.items = size, 0, {}

            def <<verb>>(self, key, value):
                self.clock += 1
                gone = None
                if key in self.items:
                    item = self.items[key]
                    item["value"] = value
                    item["used"], item["uses"] = (self.clock, item["uses"] + 1) if <<touch!r>> else (item["used"], item["uses"])
                    return None
                if len(self.items) == self.size:
                    rank = {
                        "oldest": lambda k: self.items[k]["born"],
                        "unused": lambda k: self.items[k]["used"],
                        "rarest": lambda k: (self.items[k]["uses"], self.items[k]["used"]),
                    }[<<out!r>>]
                    gone = min(self.items, key=rank)
                    del self.items[gone]
                self.items[key] = {"value": value, "born": self.clock, "used": self.clock, "uses": 1}
                return gone

            def get(self, key):
                if key not in self.items:
                    <<absent>>
                self.clock += 1
                self.items[key]["used"], self.items[key]["uses"] = self.clock, self.items[key]["uses"] + 1
                return self.items[key]["value"]

            def keys(self):
                return sorted(self.items)
        """,
        name=name, verb=verb, touch=touch, out=out,
        absent="raise KeyError(key)" if missing == "KeyError" else f"return {missing}",
    )  # fmt: skip
    rule = {
        "oldest": "the key that was added first",
        "unused": "the key whose last use is longest ago",
        "rarest": "the key with the fewest uses, of several such the one whose last use is longest ago",
    }[out]
    uses = (
        ""
        if out == "oldest"
        else f" Adding a key is its first use, every `get` that finds it is one{f', and so is a `{verb}` that changes it' if touch else ''}."
    )
    none = "raises `KeyError`" if missing == "KeyError" else f"returns `{missing}`"
    statement = f"""
    Write a class `{name}` in `solution.py`, which keeps at most `size` values by key (`{name}(size)`; `ValueError` if `size` is below 1).

    `{verb}(key, value)` adds a key, or changes the value of one that is there (without removing anything). Adding one more than `size` first removes {rule}, and
    `{verb}` returns the removed key, else `None`.{uses} `get(key)` returns the value; for an unknown key it {none}. `keys()` returns the sorted keys.
    """

    def run(size: int, count: int) -> list[Call]:
        calls = [Call(name, (size,))]
        pool = rng.sample(WORDS, size + 3)
        for _ in range(count):
            key = rng.choice(pool)
            calls.append(
                Call(f".{verb}", (key, rng.randint(0, 99))) if rng.random() < 0.55 else Call(".get", (key,))
            )
        return [*calls, Call(".keys")]

    example = [
        Call(name, (2,)),
        Call(f".{verb}", ("a", 1)),
        Call(f".{verb}", ("b", 2)),
        Call(".get", ("a",)),
        Call(f".{verb}", ("c", 3)),
        Call(".get", ("x",)),
        Call(".keys"),
    ]
    runs = [run(s, n) for s, n in ((1, 6), (2, 12), (3, 18), (3, 25), (4, 30), (5, 40), (2, 9), (6, 60))] + [
        [Call(name, (0,))],
        [Call(name, (3,)), Call(".keys")],
    ]
    full = [Call(name, (3,)), *(Call(f".{verb}", (n, n)) for n in range(20)), Call(".keys")]
    return sequences(
        statement,
        source,
        example,
        runs,
        [("never-too-many", full, lambda a: len(a[-1]) == 3 and 19 in a[-1])],
    )


def undo_list(rng: random.Random) -> Problem:
    depth = rng.choice((0, 3, 4, 5))
    keep = rng.random() < 0.4
    merge = rng.random() < 0.5
    name = rng.choice(("Draft", "Canvas", "Sketch", "Notebook"))
    source = fill(
        """
        class <<name>>:
            def __init__(self):
                self.items, self.past, self.future = [], [], []

            def _do(self, kind, new):
                if not (<<merge!r>> and kind == "add" and self.past and self.past[-1][0] == "add" and not self.future):
                    self.past.append((kind, self.items))
                    if <<depth!r>>:
                        self.past = self.past[-<<depth!r>>:]
                self.items = new
                if not <<keep!r>>:
                    self.future = []

            def add(self, item):
                self._do("add", [*self.items, item])
                return len(self.items)

            def remove(self, item):
                if item not in self.items:
                    return False
                index = self.items.index(item)
                self._do("remove", self.items[:index] + self.items[index + 1:])
                return True

            def undo(self):
                if not self.past:
                    return False
                kind, before = self.past.pop()
                self.future.append((kind, self.items))
                self.items = before
                return True

            def redo(self):
                if not self.future:
                    return False
                kind, after = self.future.pop()
                self.past.append((kind, self.items))
                self.items = after
                return True

            def show(self):
                return list(self.items)
        """,
        name=name, merge=merge, depth=depth, keep=keep,
    )  # fmt: skip
    most = f" At most {depth} changes can be undone: adding one more forgets the oldest." if depth else ""
    joined = (
        " An `add` right after another `add` (nothing that had an effect in between, and nothing that could be redone) belongs to the same change."
        if merge
        else ""
    )
    redo = (
        "what was undone can still be redone (it puts back the content of that time)"
        if keep
        else "nothing can be redone any more"
    )
    statement = f"""
    Write a class `{name}` in `solution.py`: a list of items whose changes can be undone. `{name}()` is empty.

    `add(item)` appends an item and returns the new length. `remove(item)` removes its first occurrence and returns `True`, or returns `False` and
    changes nothing. Each change is the whole content before it.{joined}{most} `undo()` goes back one change, `redo()` forward to what was last undone; each returns whether
    it did. After a new change {redo}. `show()` returns the items as a list.
    """

    def run(count: int) -> list[Call]:
        calls = [Call(name)]
        for _ in range(count):
            kind = rng.choices(("add", "remove", "undo", "redo", "show"), (5, 2, 4, 3, 2))[0]
            calls.append(Call(f".{kind}", (rng.choice("abc"),) if kind in ("add", "remove") else ()))
        return [*calls, Call(".show")]

    example = [
        Call(name),
        Call(".add", ("x",)),
        Call(".add", ("y",)),
        Call(".remove", ("x",)),
        Call(".undo"),
        Call(".show"),
        Call(".redo"),
        Call(".show"),
    ]
    runs = [run(n) for n in (6, 9, 12, 15, 20, 25, 30, 40)] + [
        [Call(name), Call(".undo"), Call(".redo"), Call(".remove", ("q",)), Call(".show")]
    ]
    back = [
        Call(name),
        Call(".add", (1,)),
        Call(".remove", (1,)),
        Call(".undo"),
        Call(".show"),
        Call(".redo"),
        Call(".show"),
    ]
    return sequences(
        statement, source, example, runs, [("there-and-back", back, lambda a: a[4] == [1] and a[6] == [])]
    )


def rate_limit(rng: random.Random) -> Problem:
    limit, window = rng.randint(2, 4), rng.choice((5, 10, 60))
    block = rng.choice((0, window, 2 * window))
    refused = rng.random() < 0.5
    name = rng.choice(("Gate", "Turnstile", "Valve"))
    source = fill(
        """
        class <<name>>:
            def __init__(self):
                self.times, self.blocked, self.now = {}, {}, None

            def allow(self, who: str, time: int) -> bool:
                if self.now is not None and time < self.now:
                    raise ValueError("time runs backwards")
                self.now = time
                if time < self.blocked.get(who, time):
                    return False
                recent = [t for t in self.times.get(who, []) if time - t < <<window!r>>]
                allowed = len(recent) < <<limit!r>>
                if allowed or <<refused!r>>:
                    recent.append(time)
                if not allowed and <<block!r>>:
                    self.blocked[who] = time + <<block!r>>
                self.times[who] = recent
                return allowed

            def waiting(self, time: int) -> list:
                return sorted(who for who, until in self.blocked.items() if time < until)
        """,
        name=name, window=window, limit=limit, refused=refused, block=block,
    )  # fmt: skip
    counted = "all its calls that were looked at, refused ones too," if refused else "its allowed calls"
    after = (
        f" A refusal for this reason blocks the name: all its calls at times before (time of the refusal + {block}) are refused without being looked at."
        if block
        else " Nobody is ever blocked."
    )
    statement = f"""
    Write a class `{name}` in `solution.py` that limits calls by name, with a clock that is told to it. `{name}()` has seen nothing.

    `allow(who, time)` says whether `who` may pass at `time` (an integer, never smaller than in an earlier call of `allow`, else `ValueError`). It may unless {counted} at
    times t with `time - t < {window}` are {limit} or more already.{after} `waiting(time)` returns the sorted list of names that are blocked at `time`.
    """

    def run(count: int, step: int) -> list[Call]:
        calls, time = [Call(name)], 0
        for _ in range(count):
            time += rng.randint(0, step)
            calls.append(
                Call(".waiting", (time,))
                if rng.random() < 0.2
                else Call(".allow", (rng.choice(("ann", "bob")), time))
            )
        return calls

    example = [
        Call(name),
        *(Call(".allow", ("ann", t)) for t in range(limit + 1)),
        Call(".allow", ("bob", limit)),
        Call(".waiting", (limit + 1,)),
        Call(".allow", ("ann", limit + window)),
    ]
    runs = [
        run(n, s)
        for n, s in ((8, 2), (12, 3), (15, window // 2), (20, 2), (30, 4), (40, window), (25, 1), (60, 3))
    ]
    runs += [
        [Call(name), Call(".allow", ("ann", 5)), Call(".allow", ("bob", 4))],
        [Call(name), Call(".waiting", (3,))],
    ]
    rush = [Call(name), *(Call(".allow", ("cy", 7)) for _ in range(9))]
    return sequences(
        statement,
        source,
        example,
        runs,
        [("no-more-than-the-limit", rush, lambda a: a[1:] == [True] * limit + [False] * (9 - limit))],
    )


def ranked_queue(rng: random.Random) -> Problem:
    high = rng.random() < 0.5
    ties = rng.choice(("first", "last"))
    aging = rng.choice((0, 2, 3))
    empty = rng.choice(("None", "IndexError"))
    name = rng.choice(("Desk", "Clinic", "Counter"))
    source = fill(
        """
        class <<name>>:
            def __init__(self):
                self.waiting, self.count, self.served = [], 0, 0

            def arrive(self, person: str, rank: int) -> int:
                if any(entry[0] == person for entry in self.waiting):
                    raise ValueError(person)
                self.waiting.append((person, rank, self.count, self.served))
                self.count += 1
                return len(self.waiting)

            def _value(self, entry):
                _, rank, number, since = entry
                bonus = (self.served - since) // <<aging!r>> if <<aging!r>> else 0
                rank = -(rank + bonus) if <<high!r>> else rank - bonus
                return (rank, number if <<ties!r>> == "first" else -number)

            def next(self):
                if not self.waiting:
                    <<nobody>>
                entry = min(self.waiting, key=self._value)
                self.waiting.remove(entry)
                self.served += 1
                return entry[0]

            def leave(self, person: str) -> bool:
                before = len(self.waiting)
                self.waiting = [entry for entry in self.waiting if entry[0] != person]
                return len(self.waiting) < before

            def line(self) -> list:
                return [entry[0] for entry in sorted(self.waiting, key=self._value)]
        """,
        name=name, aging=aging, high=high, ties=ties,
        nobody="raise IndexError('nobody')" if empty == "IndexError" else "return None",
    )  # fmt: skip
    order = "highest" if high else "lowest"
    equal = "who arrived first" if ties == "first" else "who arrived last"
    age = (
        f" For every {aging} people that were served since somebody arrived, their rank counts 1 {'more' if high else 'less'}."
        if aging
        else ""
    )
    nobody = "raises `IndexError`" if empty == "IndexError" else "returns `None`"
    statement = f"""
    Write a class `{name}` in `solution.py`: people wait and are served by rank. `{name}()` is empty.

    `arrive(person, rank)` adds a person with an integer rank and returns how many wait now; `ValueError` if the person waits already. `next()` serves (removes and
    returns) the person with the {order} rank, of equals the one {equal}; if nobody waits it {nobody}.{age} `leave(person)` removes a person, who does not count as
    served, and says whether they waited. `line()` returns all who wait in the order in which `next()` would choose among them now.
    """

    def run(count: int) -> list[Call]:
        calls = [Call(name)]
        for _ in range(count):
            kind = rng.choices(("arrive", "next", "leave", "line"), (6, 4, 1, 2))[0]
            person = rng.choice(WORDS[:14])
            calls.append(
                Call(
                    f".{kind}",
                    (person, rng.randint(1, 5)) if kind == "arrive" else (person,) if kind == "leave" else (),
                )
            )
        return [*calls, Call(".line")]

    example = [
        Call(name),
        Call(".arrive", ("Ann", 2)),
        Call(".arrive", ("Bob", 5)),
        Call(".arrive", ("Cy", 2)),
        Call(".next"),
        Call(".line"),
        Call(".leave", ("Di",)),
    ]
    runs = [run(n) for n in (6, 10, 14, 18, 25, 30, 40, 60)] + [
        [Call(name), Call(".next"), Call(".line")],
        [Call(name), Call(".arrive", ("a", 1)), Call(".arrive", ("a", 2))],
    ]
    people = list(WORDS[:6])
    serve = [
        Call(name),
        *(Call(".arrive", (p, n % 3)) for n, p in enumerate(people)),
        *(Call(".next") for _ in people),
    ]
    return sequences(
        statement,
        source,
        example,
        runs,
        [("everybody-once", serve, lambda a: sorted(a[-6:]) == sorted(people))],
    )


FAMILIES = (
    Family("bounded-store", "structures", "medium", bounded_store),
    Family("undo-list", "structures", "hard", undo_list),
    Family("rate-limit", "structures", "medium", rate_limit),
    Family("ranked-queue", "structures", "easy", ranked_queue),
)
