"""Families about networks: cheapest ways, orders of work, groups, spreading.

Invariant: graphs come as lists of edges of small integers or names; where several answers are right a property accepts each.
"""

from __future__ import annotations

import random
from typing import Any

from agentrl.envs.code.families.writing import fill, functions
from agentrl.envs.code.task import Family, Problem

NODES = "abcdefghij"


def edges(rng: random.Random, nodes: int, count: int, top: int) -> list[tuple[str, str, int]]:
    """Different weighted edges without loops."""
    pairs = [(a, b) for a in NODES[:nodes] for b in NODES[:nodes] if a != b]
    return [(a, b, rng.randint(1, top)) for a, b in rng.sample(pairs, min(count, len(pairs)))]


def toll_roads(rng: random.Random) -> Problem:
    directed = rng.random() < 0.5
    toll = rng.randint(1, 9)
    each = rng.choice(("entered", "left"))
    limit = rng.choice((0, 3, 4, 5))
    fail = rng.choice(("-1", "None"))
    source = fill(
        """
        import heapq


        def cheapest(roads: list, start: str, end: str):
            ways = {}
            for a, b, cost in roads:
                ways.setdefault(a, []).append((b, cost))
                if not <<directed!r>>:
                    ways.setdefault(b, []).append((a, cost))
            queue, done = [(0, 0, start)], set()
            while queue:
                cost, used, place = heapq.heappop(queue)
                if place == end:
                    return cost
                if (place, used) in done or (<<limit!r>> and used == <<limit!r>>):
                    continue
                done.add((place, used))
                for other, price in ways.get(place, ()):
                    toll = <<toll!r>> if (other if <<entered!r>> else place) not in (start, end) else 0
                    heapq.heappush(queue, (cost + price + toll, used + 1 if <<limit!r>> else 0, other))
            return <<fail>>
        """,
        directed=directed, toll=toll, entered=each == "entered", limit=limit, fail=fail,
    )  # fmt: skip
    way = (
        "one-way roads (from the first place to the second)"
        if directed
        else "roads that can be used both ways"
    )
    most = f" A journey uses at most {limit} roads." if limit else ""
    statement = f"""
    Write `cheapest(roads: list, start: str, end: str)` in `solution.py`.

    `roads` is a list of tuples `(place, place, cost)`: {way}. The price of a journey from `start` to `end` is the sum of the costs of its
    roads, plus a toll of {toll} each time that a place other than `start` and `end` is {each}.{most} Return the lowest price, 0 if `start`
    is `end`, and `{fail}` if there is no journey. Costs are positive integers; there may be several roads between two places.
    """
    graph = edges(rng, 5, 8, 12)
    inputs: list[Any] = [
        ("cheapest", edges(rng, n, c, 15), "a", NODES[n - 1])
        for n, c in ((4, 5), (6, 9), (8, 20), (9, 14), (5, 3), (10, 40))
    ]
    inputs += [
        ("cheapest", [], "a", "b"),
        ("cheapest", graph, "c", "c"),
        ("cheapest", [("a", "b", 9), ("a", "b", 2)], "a", "b"),
    ]
    inputs += [
        ("cheapest", [("a", "b", 1), ("b", "c", 1), ("c", "d", 1), ("d", "e", 1), ("a", "e", 90)], "a", "e")
    ]
    inputs += [("cheapest", [("b", "a", 4)], "a", "b")]
    return functions(
        statement, source, [("cheapest", graph, "a", "e"), ("cheapest", graph, "b", "d")], inputs
    )


def work_order(rng: random.Random) -> Problem:
    reverse = rng.random() < 0.5
    by_length = rng.random() < 0.5
    fault = rng.choice(("ValueError", "RuntimeError"))
    name = rng.choice(("steps", "jobs", "parts", "lessons"))
    after = rng.random() < 0.5
    source = fill(
        """
        def order(names: list, pairs: list) -> list:
            needs = {name: set() for name in names}
            for one, other in pairs:
                first, second = (other, one) if <<after!r>> else (one, other)
                for name in (first, second):
                    if name not in needs:
                        raise KeyError(name)
                needs[second].add(first)
            found = []
            while needs:
                ready = [name for name, open_ in needs.items() if not open_]
                if not ready:
                    raise <<fault>>("a circle")
                key = (lambda n: (len(n), n)) if <<by_length!r>> else (lambda n: n)
                chosen = (max if <<reverse!r>> else min)(ready, key=key)
                found.append(chosen)
                del needs[chosen]
                for open_ in needs.values():
                    open_.discard(chosen)
            return found
        """,
        after=after, fault=fault, by_length=by_length, reverse=reverse,
    )  # fmt: skip
    meaning = "`(a, b)` says that `a` comes after `b`" if after else "`(a, b)` says that `a` comes before `b`"
    rule = {
        (False, False): "the one that is first in alphabetical order",
        (True, False): "the one that is last in alphabetical order",
        (False, True): "the shortest, of equally short ones the first in alphabetical order",
        (True, True): "the longest, of equally long ones the last in alphabetical order",
    }[reverse, by_length]
    statement = f"""
    Write `order(names: list, pairs: list) -> list` in `solution.py`.

    `names` are the different names of {name}, `pairs` are tuples of two names: {meaning}. Return all names in an order that keeps every
    pair: again and again, of the {name} whose predecessors are all in the list already, take {rule}. Raise `KeyError` if a pair
    holds an unknown name, and `{fault}` if no order is possible. A pair may occur more than once.
    """
    pool = ["cut", "glue", "paint", "dry", "pack", "ship", "sand", "oil", "test", "label", "x", "yy"]

    def some(count: int, pairs: int) -> tuple[Any, ...]:
        names = rng.sample(pool, count)
        found = [tuple(sorted(rng.sample(range(count), 2), reverse=after)) for _ in range(pairs)]
        return ("order", names, [(names[a], names[b]) for a, b in found])

    inputs: list[Any] = [
        some(4, 3),
        some(6, 5),
        some(8, 6),
        some(12, 14),
        some(9, 0),
        ("order", [], []),
        ("order", ["x"], []),
    ]
    inputs += [
        ("order", ["a", "b"], [("a", "b"), ("b", "a")]),
        ("order", ["a"], [("a", "q")]),
        ("order", ["a"], [("a", "a")]),
    ]
    big = some(11, 12)

    def keeps(answers: list[Any]) -> bool:
        place = {item: index for index, item in enumerate(answers[0])}
        return sorted(answers[0]) == sorted(big[1]) and all((place[a] < place[b]) != after for a, b in big[2])

    return functions(statement, source, [some(4, 3)], inputs, [("keeps-every-pair", [big], keeps)])


def spreading(rng: random.Random) -> Problem:
    diagonal = rng.random() < 0.5
    wall, fire = rng.choice((("#", "*"), ("X", "F"), ("%", "@")))
    slow = rng.choice((1, 2, 3))
    mud = rng.choice("~=m")
    what = rng.choice(("last", "count"))
    steps = rng.randint(2, 5)
    source = fill(
        """
        import heapq


        def spread(grid: list) -> int:
            times = {}
            queue = [(0, r, c) for r, row in enumerate(grid) for c, cell in enumerate(row) if cell == <<fire!r>>]
            heapq.heapify(queue)
            while queue:
                time, r, c = heapq.heappop(queue)
                if (r, c) in times:
                    continue
                times[r, c] = time
                for dr in (-1, 0, 1):
                    for dc in (-1, 0, 1):
                        y, x = r + dr, c + dc
                        if (dr or dc) and (<<diagonal!r>> or not (dr and dc)) and 0 <= y < len(grid) and 0 <= x < len(grid[y]):
                            if grid[y][x] != <<wall!r>>:
                                heapq.heappush(queue, (time + (<<slow!r>> + 1 if grid[y][x] == <<mud!r>> else 1), y, x))
            if <<last!r>>:
                return max(times.values(), default=-1)
            return sum(time <= <<steps!r>> for time in times.values())
        """,
        fire=fire, diagonal=diagonal, wall=wall, slow=slow, mud=mud, last=what == "last", steps=steps,
    )  # fmt: skip
    ends = (
        "Return the time at which the last cell that ever burns begins to burn (0 if only the first ones burn), and -1 if nothing burns."
        if what == "last"
        else f"Return how many cells burn at time {steps} (the first ones count)."
    )
    near = "its eight neighbours" if diagonal else "its neighbours above, below, left and right"
    statement = f"""
    Write `spread(grid: list) -> int` in `solution.py`.

    `grid` is a list of strings of equal length. Cells `{fire}` burn at time 0. Fire goes from a burning cell to {near}: a `.` begins to burn 1 after it,
    a `{mud}` (wet) {slow + 1} after it, each at the earliest time at which any neighbour sets it on fire; `{wall}` never burns. {ends}
    """

    def some(rows: int, columns: int, fires: int) -> tuple[Any, ...]:
        cells = [[rng.choices((".", mud, wall), (6, 2, 2))[0] for _ in range(columns)] for _ in range(rows)]
        for _ in range(fires):
            cells[rng.randrange(rows)][rng.randrange(columns)] = fire
        return ("spread", ["".join(row) for row in cells])

    inputs: list[Any] = [
        some(3, 4, 1),
        some(5, 5, 2),
        some(8, 8, 1),
        some(10, 6, 3),
        some(12, 12, 1),
        some(1, 9, 1),
        some(9, 1, 1),
    ]
    inputs += [
        ("spread", []),
        ("spread", ["..."]),
        ("spread", [fire]),
        ("spread", [f"{fire}{wall}."]),
        ("spread", [f"{fire}{mud}{mud}."]),
    ]
    return functions(statement, source, [some(3, 4, 1), some(4, 5, 1)], inputs)


def alliances(rng: random.Random) -> Problem:
    least = rng.choice((2, 2, 3))
    by_size = rng.random() < 0.5
    strength = rng.randint(2, 6)
    mutual = rng.random() < 0.5
    source = fill(
        """
        def groups(people: list, links: list) -> list:
            strong = {}
            for a, b, weight in links:
                strong[a, b] = strong.get((a, b), 0) + weight
            near = {person: set() for person in people}
            for (a, b), weight in strong.items():
                back = strong.get((b, a), 0)
                if (min(weight, back) if <<mutual!r>> else weight + back) >= <<strength!r>>:
                    near[a].add(b)
                    near[b].add(a)
            found, seen = [], set()
            for person in people:
                group, todo = set(), [person]
                while todo:
                    one = todo.pop()
                    if one not in group and one not in seen:
                        group.add(one)
                        todo += near[one]
                seen |= group
                if len(group) >= <<least!r>>:
                    found.append(sorted(group))
            return sorted(found, key=(lambda g: (-len(g), g)) if <<by_size!r>> else None)
        """,
        mutual=mutual, strength=strength, least=least, by_size=by_size,
    )  # fmt: skip
    rule = (
        f"the sums of the weights in both directions are each at least {strength}"
        if mutual
        else f"the weights in both directions together sum to at least {strength}"
    )
    order = "largest group first, groups of the same size" if by_size else "groups"
    statement = f"""
    Write `groups(people: list, links: list) -> list` in `solution.py`.

    `people` are different names, `links` tuples `(from, to, weight)` between two different ones of them with positive integer weights; the weights of
    links that occur several times in one direction add up. Two people are allied if {rule}. A group are people who are connected by alliances,
    directly or over others. Return the groups of at least {least} people, each a sorted list of names; {order} in the order in which
    Python compares lists.
    """
    pool = ["Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ivy", "Jo", "Kit", "Lou"]

    def some(count: int, links: int) -> tuple[Any, ...]:
        people = rng.sample(pool, count)
        return (
            "groups",
            people,
            [(*rng.sample(people, 2), rng.randint(1, strength + 1)) for _ in range(links)],
        )

    both = [("a", "b", strength), ("b", "a", strength)]
    inputs: list[Any] = [
        some(4, 16),
        some(6, 44),
        some(8, 80),
        some(10, 120),
        some(12, 100),
        some(12, 260),
        some(5, 24),
    ]
    inputs += [
        ("groups", [], []),
        ("groups", ["a", "b"], []),
        ("groups", ["b", "a"], both),
        ("groups", ["a", "b"], both[:1]),
    ]
    inputs += [("groups", ["a", "b", "c"], [*both, ("b", "c", strength), ("c", "b", strength)])]
    return functions(statement, source, [some(5, 26)], inputs)


FAMILIES = (
    Family("toll-roads", "graphs", "medium", toll_roads),
    Family("work-order", "graphs", "medium", work_order),
    Family("spreading-fire", "graphs", "hard", spreading),
    Family("alliances", "graphs", "easy", alliances),
)
