"""What the catalogue says of bias, by full enumeration: exact expected gradients on small decision processes."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from test_golden import CASES, chains

from agentrl.trainers.credit.dr_grpo import dr_grpo
from agentrl.trainers.credit.gigpo import gigpo
from agentrl.trainers.credit.grpo import grpo
from agentrl.trainers.credit.reinforce import reinforce
from agentrl.trainers.credit.result import Credit
from agentrl.trainers.credit.rloo import rloo
from agentrl.trainers.credit.turn_return import turn_return
from agentrl.trainers.table import TurnTable, table_of

Method = Callable[[TurnTable], Credit]


@dataclass(frozen=True)
class Path:
    """One possible episode: its probability, turns (reward, state key), and the score function of every turn."""

    probability: float
    turns: list[tuple[float, str | None]]
    scores: np.ndarray


def expected_gradient(paths: Sequence[Path], size: int, method: Method) -> np.ndarray:
    """Expectation, over groups of `size` episodes, of the mean over episodes of the sum over turns of A grad log pi."""
    out = np.zeros(paths[0].scores.shape[1])
    for group in itertools.product(paths, repeat=size):
        advantages = method(table_of([chains(0, [path.turns for path in group])])).advantages
        scores = np.concatenate([path.scores for path in group])
        out += np.prod([path.probability for path in group]) * advantages @ scores / size
    return out


def softmax(logits: Sequence[float]) -> np.ndarray:
    exp = np.exp(np.asarray(logits))
    return exp / exp.sum()


def golden_paths() -> list[Path]:
    """The episodes of g10's process: two turns, three states of two actions."""
    inputs = CASES["true_gradient"]["inputs"]
    order = inputs["param_order"]
    policy = {state: softmax(logits) for state, logits in inputs["logits"].items()}
    out = []
    for first, second in itertools.product(range(2), repeat=2):
        states = ["s0", inputs["next"][f"s0|{first}"]]
        scores = np.zeros((2, 2 * len(order)))
        for k, (state, action) in enumerate(zip(states, (first, second), strict=True)):
            at = 2 * order.index(state)
            scores[k, at : at + 2] = -policy[state]
            scores[k, at + action] += 1
        probability = policy["s0"][first] * policy[states[1]][second]
        rewards = [inputs["reward"][f"{s}|{a}"] for s, a in zip(states, (first, second), strict=True)]
        out.append(Path(probability, list(zip(rewards, states, strict=True)), scores))
    return out


def plain(method: Callable[..., Credit], **params: object) -> Method:
    return lambda table: method(table, **params)


def anchors_alone(exclude_own: bool) -> Method:
    """The step term of GiGPO."""
    whole, part = plain(gigpo, gamma=1.0, exclude_own=exclude_own), plain(gigpo, omega=0.0)
    return lambda table: Credit(whole(table).advantages - part(table).advantages)


ESTIMATORS: dict[str, Method] = {
    "no_baseline": plain(reinforce),
    "rloo": plain(rloo),
    "group_mean": plain(dr_grpo),
    "grpo_std_ddof1": plain(grpo),
    "return_to_go": plain(turn_return, baseline="none"),
    "return_to_go_turn_loo": plain(turn_return),
    "anchor_loo_singleton_zero": anchors_alone(exclude_own=True),
    "anchor_mean_singleton_zero": anchors_alone(exclude_own=False),
    "gigpo_mean_norm": plain(gigpo, gamma=1.0, exclude_own=False),
}


def test_the_true_gradient_is_that_of_the_enumerated_episodes():
    paths, outputs = golden_paths(), CASES["true_gradient"]["outputs"]
    assert [path.probability for path in paths] == pytest.approx(
        [trajectory["prob"] for trajectory in outputs["trajectories"]], abs=1e-12
    )
    returns = [sum(reward for reward, _ in path.turns) for path in paths]
    value = sum(path.probability * total for path, total in zip(paths, returns, strict=True))
    gradient = sum(
        path.probability * total * path.scores.sum(0) for path, total in zip(paths, returns, strict=True)
    )
    assert value == pytest.approx(outputs["J"], abs=1e-12)
    assert gradient == pytest.approx(outputs["grad"], abs=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_expected_gradients_are_the_golden_ones(size, estimator):
    want = CASES[f"expected_gradients_G{size}"]["outputs"][estimator]
    atol = 1e-6 if "std" in estimator else 1e-10  # an eps stands in the denominator
    assert expected_gradient(golden_paths(), size, ESTIMATORS[estimator]) == pytest.approx(want, abs=atol)


def test_which_estimators_are_unbiased():
    true = CASES["true_gradient"]["outputs"]["grad"]
    for method in (reinforce, rloo, turn_return):
        assert expected_gradient(golden_paths(), 3, method) == pytest.approx(true, abs=1e-12)
    assert expected_gradient(golden_paths(), 3, dr_grpo) == pytest.approx(np.multiply(true, 2 / 3), abs=1e-12)
    batch_mean = plain(reinforce, baseline="batch")
    assert expected_gradient(golden_paths(), 3, batch_mean) == pytest.approx(
        np.multiply(true, 2 / 3), abs=1e-12
    )


def test_a_turn_deeper_than_others_go_is_scaled():
    """Action 0 ends the episode; action 1 leads to a second turn. The second turn's gradient is scaled by the
    probability that the other episode gets there too."""
    go, win = 0.6, 0.3

    def scores(*turns: tuple[int, float, int]) -> np.ndarray:
        out = np.zeros((len(turns), 2))
        for k, (parameter, p, action) in enumerate(turns):
            out[k, parameter] = action - p  # derivative by the logit of action 1
        return out

    paths = [
        Path(1 - go, [(0.2, None)], scores((0, go, 0))),
        Path(go * win, [(0.0, None), (1.0, None)], scores((0, go, 1), (1, win, 1))),
        Path(go * (1 - win), [(0.0, None), (0.0, None)], scores((0, go, 1), (1, win, 0))),
    ]
    true = np.array([go * (1 - go) * (win - 0.2), go * win * (1 - win)])
    assert expected_gradient(paths, 2, rloo) == pytest.approx(true, abs=1e-12)
    assert expected_gradient(paths, 2, turn_return) == pytest.approx(true * [1.0, go], abs=1e-12)


def test_standard_deviations_weigh_easy_and_hard_tasks_more():
    case = CASES["grpo_difficulty_weighting"]
    size = case["inputs"]["G"]
    for name, method in (("grpo", grpo), ("dr_grpo", dr_grpo)):
        got = []
        for p in case["inputs"]["p"]:
            gradient = 0.0
            for wins in range(size + 1):
                group = [1.0] * wins + [0.0] * (size - wins)
                advantages = method(table_of([chains(0, [[(r, None)] for r in group])])).advantages
                scores = np.asarray(group) - p
                ways = np.prod([(size - i) / (i + 1) for i in range(wins)])
                gradient += ways * p**wins * (1 - p) ** (size - wins) * float(advantages @ scores) / size
            got.append(gradient)
        assert got == pytest.approx(case["outputs"][name], abs=1e-5 if name == "grpo" else 1e-10)


def test_an_anchor_baseline_with_own_turns_is_biased():
    """One state, visited at every turn; action 0 earns 1."""
    case = CASES["anchor_revisit_leak"]
    policy = softmax(case["inputs"]["logits"])
    true, outputs = np.asarray(case["outputs"]["true"]), case["outputs"]
    paths = []
    for actions in itertools.product(range(2), repeat=case["inputs"]["horizon"]):
        rewards = [float(a == 0) for a in actions]
        paths.append(
            Path(
                float(np.prod(policy[list(actions)])),
                [(reward, "s") for reward in rewards],
                np.eye(2)[list(actions)] - policy,
            )
        )
    size = case["inputs"]["G"]
    assert expected_gradient(paths, size, plain(turn_return, baseline="none")) == pytest.approx(true)
    others = expected_gradient(paths, size, anchors_alone(exclude_own=True))
    assert others == pytest.approx(outputs["other_trajectories_only"], abs=1e-10)
    everyone = expected_gradient(paths, size, anchors_alone(exclude_own=False))
    assert everyone == pytest.approx(outputs["mean_all_rows"], abs=1e-10)
