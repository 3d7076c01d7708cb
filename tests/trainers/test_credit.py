"""Credit methods against the golden numbers and by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from agentrl.core.messages import assistant, user
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.trainers.credit.baseline import centre, centre_on_others
from agentrl.trainers.credit.dr_grpo import dr_grpo
from agentrl.trainers.credit.gigpo import gigpo, step_credit
from agentrl.trainers.credit.grpo import grpo
from agentrl.trainers.credit.reinforce import reinforce
from agentrl.trainers.credit.returns import return_to_go
from agentrl.trainers.credit.rloo import rloo
from agentrl.trainers.credit.turn_return import turn_return
from agentrl.trainers.table import TurnTable, table_of

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name: str) -> dict[str, dict]:
    return {case["id"]: case for case in json.loads((GOLDEN / name).read_text())["cases"]}


G01, G02, G05 = (
    golden("g01_group_advantages.json"),
    golden("g02_returns_gae.json"),
    golden("g05_step_credit.json"),
)


def chain_tree(seed: int, episodes: list[list[float]], keys: list[list[str]] | None = None) -> RolloutTree:
    """A group of chains with the given rewards and state keys."""
    tree = RolloutTree(Task("env", seed), requested=len(episodes))
    for e, rewards in enumerate(episodes):
        for k, reward in enumerate(rewards):
            tree.add(
                turn(None if k == 0 else len(tree) - 1, reward, k == len(rewards) - 1, keys and keys[e][k])
            )
    return tree


def turn(parent: int | None, reward: float, last: bool, key: str | None = None) -> Turn:
    return Turn(
        id=0,
        parent=parent,
        observation=(user("o"),),
        action=assistant("a"),
        context_ids=(1,),
        completion_ids=(2, 3),
        logprobs=(-0.5, -0.5),
        reward=reward,
        terminated=last,
        state_key=key,
    )


def group_table() -> tuple[TurnTable, dict]:
    """The golden groups: one-turn episodes."""
    inputs = G01["rloo_singleton_zero"]["inputs"]
    groups: dict[str, list[list[float]]] = {}
    for name, reward in zip(inputs["group"], inputs["reward"], strict=True):
        groups.setdefault(name, []).append([reward])
    return table_of([chain_tree(i, episodes) for i, episodes in enumerate(groups.values())]), inputs


@pytest.mark.parametrize(
    ("case", "method", "params"),
    [
        ("reinforce_no_baseline", reinforce, {}),
        ("grpo_ddof1_eps1e-6_singleton_raw", grpo, {"singleton": "raw"}),
        ("grpo_ddof1_eps1e-6_singleton_zero", grpo, {}),
        ("grpo_ddof1_eps1e-4_singleton_zero", grpo, {"eps": 1e-4}),
        ("grpo_ddof0_eps1e-8_singleton_zero", grpo, {"eps": 1e-8, "ddof": 0}),
        ("dr_grpo_mean_only_singleton_raw", dr_grpo, {"singleton": "raw"}),
        ("dr_grpo_mean_only_singleton_zero", dr_grpo, {}),
        ("rloo_singleton_zero", rloo, {}),
    ],
)
def test_group_advantages_reproduce_the_golden_numbers(case, method, params):
    table, _ = group_table()
    assert method(table, **params).advantages == pytest.approx(G01[case]["outputs"], abs=1e-10)


def test_groups_are_counted():
    table, _ = group_table()
    credit = grpo(table)
    assert (credit.groups, credit.singletons, credit.zero_variance, credit.excluded) == (4, 1, 1, 0)


def test_a_member_that_could_not_be_scored_is_left_out():
    outputs = G01["unscorable_member_nan"]["outputs"]
    values, group = np.array([1.0, np.nan, 0.0, 0.0]), np.zeros(4, int)
    got = centre(values, group, scale="std", eps=1e-4)
    assert got.values == pytest.approx(outputs["grpo_eps1e_4"], abs=1e-10)
    assert centre(values, group, baseline="loo").values == pytest.approx(outputs["rloo"], abs=1e-10)
    assert got.excluded == 1


def test_episode_statistics_count_episodes_not_turns():
    inputs, outputs = (G01["rloo_step_rows_leak"][key] for key in ("inputs", "outputs"))
    table = table_of([chain_tree(0, [[0.0, 0.0, 1.0], [0.0]])])
    assert inputs["traj"] == [0, 0, 0, 1]
    assert rloo(table).advantages == pytest.approx(outputs["per_trajectory"])
    assert rloo(table).advantages != pytest.approx(outputs["leaky_rows"])
    case = G01["episode_norm_cross_steps_vs_traj"]
    table = table_of([chain_tree(0, [[1.0], [0.0] * 5, [0.0] * 2])])
    per_turn = grpo(table).advantages
    assert [per_turn[0], per_turn[1], per_turn[6]] == pytest.approx(
        case["outputs"]["per_traj_adv"], abs=1e-10
    )


@pytest.mark.parametrize("gamma", ["1.0", "0.0"])
def test_turn_returns_reproduce_the_golden_numbers(gamma):
    case = G02[f"turn_return_to_go_g{gamma}"]
    rewards = [0.1, 0.0, 1.0]  # the golden token rewards, summed over each turn
    table = table_of([chain_tree(0, [rewards])])
    assert return_to_go(table, float(gamma)) == pytest.approx(case["outputs"]["turns"], abs=1e-10)
    assert turn_return(table, gamma=float(gamma), baseline="none").advantages == pytest.approx(
        case["outputs"]["turns"]
    )


def test_turn_returns_by_hand():
    table = table_of([chain_tree(0, [[0.1, 0.0, 1.0]])])
    assert return_to_go(table, 0.95) == pytest.approx([1.0025, 0.95, 1.0])


def gigpo_table() -> tuple[TurnTable, list[int]]:
    """The golden rows as trees, and the golden row of every row of the table."""
    inputs = G05["gigpo_mean_pertraj"]["inputs"]
    trees: dict[str, dict[str, list[int]]] = {}
    for row, (prompt, trajectory) in enumerate(zip(inputs["prompt"], inputs["traj"], strict=True)):
        trees.setdefault(prompt, {}).setdefault(trajectory, []).append(row)
    rewards, anchors = inputs["step_reward"], inputs["anchor"]
    made = [
        chain_tree(
            i,
            [[rewards[r] for r in rows] for rows in t.values()],
            [[anchors[r] for r in rows] for rows in t.values()],
        )
        for i, t in enumerate(trees.values())
    ]
    return table_of(made), [row for t in trees.values() for rows in t.values() for row in rows]


@pytest.mark.parametrize("case", [name for name in G05 if name.startswith("gigpo_mean")])
def test_gigpo_reproduces_the_golden_numbers(case):
    outputs = G05[case]["outputs"]
    table, order = gigpo_table()
    scale = "std" if "std" in case else "none"
    unit = "turn" if "crosssteps" in case else "episode"
    step = step_credit(table, gamma=0.95, scale=scale, eps=1e-6, exclude_own=False)
    assert step == pytest.approx([outputs["step"][row] for row in order], abs=1e-7)
    got = gigpo(table, scale=scale, unit=unit, exclude_own=False)
    total = [outputs["episode"][row] + outputs["step"][row] for row in order]
    assert got.advantages == pytest.approx(total, abs=1e-7)
    only_episode = gigpo(table, scale=scale, unit=unit, omega=0.0, exclude_own=False)
    assert only_episode.advantages == pytest.approx([outputs["episode"][row] for row in order], abs=1e-7)


def test_gigpo_leaves_out_the_own_episode():
    # Both episodes start in s; the first comes back to it. gamma 1: returns to go 1, 1 and 0.
    table = table_of([chain_tree(0, [[0.0, 1.0], [0.0]], [["s", "s"], ["s"]])])
    step = step_credit(table, gamma=1.0, scale="none", eps=0.0, exclude_own=True)
    assert step.tolist() == [1.0, 1.0, -1.0]
    leaky = step_credit(table, gamma=1.0, scale="none", eps=0.0, exclude_own=False)
    assert leaky == pytest.approx([1 / 3, 1 / 3, -2 / 3])


def test_keys_of_different_tasks_never_meet():
    one = chain_tree(0, [[1.0], [0.0]], [["s"], ["s"]])
    two = chain_tree(1, [[5.0], [5.0]], [["s"], ["s"]])
    step = step_credit(table_of([one, two]), gamma=1.0, scale="none", eps=0.0, exclude_own=True)
    assert step.tolist() == [1.0, -1.0, 0.0, 0.0]


def test_equal_rewards_give_exactly_zero():
    table = table_of([chain_tree(0, [[0.1], [0.1], [0.1]]), chain_tree(1, [[0.7, 0.1], [0.7, 0.1]])])
    for method in (rloo, grpo, dr_grpo):
        assert method(table).advantages.tolist() == [0.0] * 7


def test_the_baseline_of_a_turn_is_the_others_at_its_depth():
    table = table_of([chain_tree(0, [[0.0, 1.0], [0.0, 0.0], [0.0]])])
    # Returns to go: 1, 1 | 0, 0 | 0; depth 0: 1, 0, 0; depth 1: 1, 0.
    assert turn_return(table).advantages.tolist() == [1.0, 1.0, -0.5, -1.0, -0.5]
    whole = turn_return(table, baseline="batch").advantages
    assert whole == pytest.approx([0.6, 0.6, -0.4, -0.4, -0.4])


def test_in_a_branching_tree_a_node_gets_the_mean_over_its_leaves():
    tree = RolloutTree(Task("env", 0), requested=3)
    root = tree.add(turn(None, 0.0, False)).id
    tree.add(turn(root, 1.0, True))
    tree.add(turn(root, 0.0, True))
    tree.add(turn(None, 0.0, True))
    table = table_of([tree])
    assert table.leaf_return.tolist() == [1.0, 0.0, 0.0]
    # RLOO per leaf: 1, -1/2, -1/2; the shared turn: (1 - 1/2) / 2.
    assert rloo(table).advantages == pytest.approx([0.25, 1.0, -0.5, -0.5])
    assert return_to_go(table, 1.0).tolist() == [0.5, 1.0, 0.0, 0.0]


def test_order_of_groups_and_members_does_not_matter():
    rng = np.random.default_rng(0)
    values, group, owner = rng.normal(size=40), rng.integers(0, 6, 40), rng.integers(0, 9, 40)
    order = rng.permutation(40)
    for options in ({"baseline": "loo"}, {"scale": "std"}, {}):
        whole = centre(values, group, **options).values
        assert centre(values[order], group[order], **options).values == pytest.approx(whole[order], abs=1e-12)
    whole = centre_on_others(values, group, owner)
    assert centre_on_others(values[order], group[order], owner[order]) == pytest.approx(
        whole[order], abs=1e-12
    )


def test_others_means_others():
    values, group, owner = np.array([1.0, 2.0, 6.0, 4.0]), np.array([0, 0, 0, -1]), np.array([0, 0, 1, 2])
    assert centre_on_others(values, group, owner).tolist() == [-5.0, -4.0, 4.5, 0.0]


def test_a_hundred_thousand_turns_take_under_a_second():
    import time

    tree = chain_tree(
        0, [[0.0] * 9 + [float(i % 2)] for i in range(100)], [[f"s{k}" for k in range(10)]] * 100
    )
    table = table_of([tree] * 100)
    assert len(table) == 100_000
    for method in (reinforce, rloo, grpo, dr_grpo, gigpo, turn_return):
        began = time.perf_counter()
        method(table)
        assert time.perf_counter() - began < 1.0
