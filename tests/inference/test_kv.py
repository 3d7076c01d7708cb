"""The pool of keys and values: the longest prefix wins, what is running is never touched, the oldest goes first."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from agentrl.inference.kv import KVPool


def pool(slots: int, length: int = 4) -> KVPool:
    made = KVPool(slots, length)
    made.layer(0, torch.zeros(1, 1, 1, 1))
    return made


def feed(made: KVPool, slot: int, start: int, ids: list[int]) -> None:
    """What a forward pass does: keys of new tokens (here the token itself, plus a mark of its position)."""
    for at, token in enumerate(ids, start):
        made.keys[0][slot, 0, at] = 100 * at + token
        made.values[0][slot, 0, at] = -token
    made.write(slot, start, np.asarray(ids, np.int64))


def serve(made: KVPool, ids: list[int]) -> tuple[int, int]:
    """A whole request: (slot, cached tokens)."""
    made.reserve(len(ids))
    slot, cached = made.take(np.asarray(ids, np.int64))
    feed(made, slot, cached, ids[cached:])
    return slot, cached


def check(made: KVPool) -> None:
    for slot in range(made.slots):
        count = int(made.counts[slot])
        tokens = made.tokens[slot, :count]
        assert made.keys[0][slot, 0, :count, 0].tolist() == [100 * i + t for i, t in enumerate(tokens)]
        assert made.values[0][slot, 0, :count, 0].tolist() == [-t for t in tokens]


def test_the_next_turn_continues_in_place():
    made = pool(3)
    first, _ = serve(made, [1, 2, 3])
    made.release(first)
    assert serve(made, [1, 2, 3, 4, 5, 6]) == (first, 3)
    check(made)


def test_a_prompt_is_never_cached_whole():
    # The last token has to be computed: its logits are what is asked for.
    made = pool(2)
    slot, _ = serve(made, [1, 2, 3])
    made.release(slot)
    assert serve(made, [1, 2, 3])[1] == 2
    assert serve(made, [7])[1] == 0


def test_a_branch_copies_and_leaves_the_sibling():
    made = pool(3)
    first, _ = serve(made, [1, 2, 3, 4])
    second, cached = serve(made, [1, 2, 9])
    assert (second != first, cached) == (True, 2)
    assert made.tokens[first, :4].tolist() == [1, 2, 3, 4]
    check(made)


def test_the_slot_that_rested_longest_is_evicted():
    made = pool(3)
    slots = [serve(made, [10 + i, 1])[0] for i in range(3)]
    for slot in (slots[1], slots[0], slots[2]):
        made.release(slot)
    assert serve(made, [50, 1]) == (slots[1], 0)
    assert serve(made, [60, 1]) == (slots[0], 0)
    check(made)


def test_forgotten_keys_are_not_found():
    made = pool(2)
    slot, _ = serve(made, [1, 2, 3])
    made.release(slot)
    made.forget()
    assert serve(made, [1, 2, 3, 4])[1] == 0


prompts = st.lists(st.integers(0, 2), min_size=1, max_size=12)


@given(st.integers(1, 4), st.lists(st.tuples(prompts, st.integers(0, 3)), max_size=25))
def test_any_order_of_requests_keeps_what_it_says(slots, requests):
    made = pool(slots)
    running: list[int] = []
    for ids, ends in requests:
        for _ in range(min(ends, len(running))):
            made.release(running.pop(0))
        if len(running) == slots:
            made.release(running.pop(0))
        held = {slot: made.tokens[slot, : made.counts[slot]].tolist() for slot in range(slots)}
        slot, cached = serve(made, ids)
        assert slot not in running
        best = max(common(ids[:-1], tokens) for tokens in held.values())
        assert cached == best
        for other in running:
            assert made.tokens[other, : made.counts[other]].tolist() == held[other]
        assert made.tokens[slot, : made.counts[slot]].tolist() == ids
        running.append(slot)
        check(made)


def common(one: list[int], other: list[int]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def test_packing_moves_the_running_slots_to_the_front_and_loses_nothing():
    made = KVPool(6, 4)
    like = torch.zeros(1, 1, 1, 1)
    for store in made.layer(0, like):
        for slot in range(6):
            store[slot] = slot
    made.counts[:] = 4
    rng = np.random.default_rng(0)
    for _ in range(50):
        slots = rng.permutation(6)[: rng.integers(1, 7)]
        order = made.pack(slots)
        assert made.row[slots[order]].tolist() == list(range(len(slots)))
        assert sorted(made.row.tolist()) == list(range(6))
        for store in (made.keys[0], made.values[0]):
            assert [int(store[made.row[slot], 0, 3, 0]) for slot in range(6)] == list(range(6))
