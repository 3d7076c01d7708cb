"""Every golden case of credit, returns, losses, KL, entropy and exact gradients: reproduced here, or named as not yet.

A case of `CHECKS` is reproduced by the function beside it. One of `PARTLY` too, except for the outputs that are
named. A case of `NOT_YET` belongs to a method that does not exist here. Together they are all cases of the files,
so that neither a new case nor a new method is forgotten.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agentrl.core.messages import assistant, user
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.trainers.aggregate import token_weights
from agentrl.trainers.credit.baseline import centre
from agentrl.trainers.credit.dr_grpo import dr_grpo
from agentrl.trainers.credit.gigpo import gigpo
from agentrl.trainers.credit.grpo import grpo
from agentrl.trainers.credit.reinforce import reinforce as reinforce_credit
from agentrl.trainers.credit.returns import return_to_go
from agentrl.trainers.credit.rloo import rloo
from agentrl.trainers.credit.turn_return import turn_return
from agentrl.trainers.entropy import entropy
from agentrl.trainers.kl import ESTIMATORS
from agentrl.trainers.loss.clip import clip
from agentrl.trainers.loss.reinforce import reinforce as reinforce_loss
from agentrl.trainers.rows import Row
from agentrl.trainers.table import TurnTable, table_of

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = (
    "g01_group_advantages",
    "g02_returns_gae",
    "g03_policy_losses",
    "g04_kl_entropy",
    "g05_step_credit",
    "g10_exact_expected_gradients",
)
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for name in FILES for case in json.loads((GOLDEN / f"{name}.json").read_text())["cases"]
}

exactly = partial(pytest.approx, abs=1e-10, rel=0)
nearly = partial(pytest.approx, abs=1e-7, rel=0)
"""Where an eps stands in a denominator."""


def chains(index: int, episodes: list[list[tuple[float, str | None]]]) -> RolloutTree:
    """A group of chains; every turn is (reward, state key)."""
    tree = RolloutTree(Task("env", index), requested=len(episodes))
    for episode in episodes:
        for k, (reward, key) in enumerate(episode):
            tree.add(
                Turn(
                    id=0,
                    parent=None if k == 0 else len(tree) - 1,
                    observation=(user("o"),),
                    action=assistant("a"),
                    context_ids=(1,),
                    completion_ids=(2,),
                    logprobs=(-0.5,),
                    reward=reward,
                    terminated=k == len(episode) - 1,
                    state_key=key,
                )
            )
    return tree


def one_turn_groups(inputs: dict[str, Any]) -> TurnTable:
    groups: dict[str, list[list[tuple[float, str | None]]]] = {}
    for name, reward in zip(inputs["group"], inputs["reward"], strict=True):
        groups.setdefault(name, []).append([(reward, None)])
    return table_of([chains(i, episodes) for i, episodes in enumerate(groups.values())])


def step_table(inputs: dict[str, Any]) -> TurnTable:
    """The rows of g05, which stand in order of task, episode and turn."""
    tasks: dict[str, dict[str, list[tuple[float, str | None]]]] = {}
    columns = (inputs[name] for name in ("prompt", "traj", "step_reward", "anchor"))
    for task, episode, reward, key in zip(*columns, strict=True):
        tasks.setdefault(task, {}).setdefault(episode, []).append((reward, key))
    return table_of([chains(i, list(episodes.values())) for i, episodes in enumerate(tasks.values())])


def group_credit(method: Callable[..., Any], inputs: dict, outputs: Any, **params: Any) -> None:
    assert method(one_turn_groups(inputs), **params).advantages == exactly(outputs)


def unscorable(inputs: dict, outputs: dict) -> None:
    values = np.array([float(x) for x in inputs["reward"]])
    group = np.zeros(len(values), int)
    assert centre(values, group, scale="std", eps=1e-4) == exactly(outputs["grpo_eps1e_4"])
    assert centre(values, group, baseline="loo") == exactly(outputs["rloo"])


def no_leak_over_turns(inputs: dict, outputs: dict) -> None:
    assert inputs["traj"] == [0, 0, 0, 1]
    table = table_of([chains(0, [[(0.0, None), (0.0, None), (1.0, None)], [(0.0, None)]])])
    assert rloo(table).advantages == exactly(outputs["per_trajectory"])
    assert rloo(table).advantages != nearly(outputs["leaky_rows"])


def statistics_over_episodes_or_turns(inputs: dict, outputs: dict) -> None:
    pairs = zip(inputs["traj_return"], inputs["turns"], strict=True)
    table = table_of([chains(0, [[(total, None)] + [(0.0, None)] * (n - 1) for total, n in pairs])])
    first = table.depth == 0
    assert grpo(table, eps=inputs["eps"]).advantages[first] == exactly(outputs["per_traj_adv"])
    over_turns = gigpo(table, omega=0.0, scale="std", eps=inputs["eps"], unit="turn")
    assert over_turns.advantages[first] == exactly(outputs["cross_steps_adv"])


def returns_of_turns(inputs: dict, outputs: dict) -> None:
    spans = list(zip(inputs["turn_starts"], inputs["turn_ends"], strict=True))
    rewards = [sum(inputs["reward"][a : b + 1]) for a, b in spans]
    credit = turn_return(
        table_of([chains(0, [[(r, None) for r in rewards]])]), gamma=inputs["gamma"], baseline="none"
    )
    assert credit.advantages == exactly(outputs["turns"])
    tokens = np.zeros(len(inputs["mask"]))
    for (a, b), value in zip(spans, credit.advantages, strict=True):
        tokens[a : b + 1] = value
    assert tokens == exactly(outputs["tokens"])


def discounted_steps(inputs: dict, outputs: list[float]) -> None:
    assert return_to_go(step_table(inputs), inputs["gamma"]) == exactly(outputs)


def published_gigpo(inputs: dict, outputs: dict, **params: Any) -> None:
    table, more = (
        step_table(inputs),
        {"gamma": inputs["gamma"], "eps": inputs["eps"], "exclude_own": False, **params},
    )
    assert gigpo(table, omega=0.0, **more).advantages == nearly(outputs["episode"])
    assert gigpo(table, omega=1.0, **more).advantages == nearly(outputs["total_w1"])
    assert gigpo(table, omega=0.5, **more).advantages == nearly(outputs["total_w0_5"])


def revisited_anchor(inputs: dict, outputs: dict) -> None:
    table = step_table(inputs)
    both = (gigpo(table, exclude_own=False, omega=omega).advantages for omega in (1.0, 0.0))
    step = np.subtract(*both)
    assert step[table.tree == 1] == nearly(outputs["with_revisit"])


def rows_from(masks: list[list[int]], turns: list[list[int]] | None = None, leaves: Any = None) -> list[Row]:
    """Rows whose masks, turns and episodes alone matter; each row is an episode of its own if nothing is said."""
    out = []
    for i, mask in enumerate(masks):
        trained, n = np.asarray(mask, bool), len(mask)
        node = np.asarray(turns[i] if turns else np.where(trained, 0, -1))
        zero, leaf = np.zeros(n), i if leaves is None else leaves[i]
        out.append(Row(np.zeros(n, int), trained, zero, zero, node, node, node, 0, leaf))
    return out


def total(name: str, values: Any, rows: list[Row], **params: float) -> float:
    weights = token_weights(name, rows, **params)
    return float(sum((w * np.asarray(x)).sum() for w, x in zip(weights, values, strict=True)))


AGGREGATES = {
    "token-mean": "token_mean",
    "seq-mean-token-mean": "sequence_mean",
    "seq-mean-token-sum": "sequence_sum",
    "turn-mean": "turn_mean",
}


def token_loss(loss: Callable[..., Any], inputs: dict, outputs: dict, **params: float) -> None:
    mask = torch.tensor(inputs["mask"], dtype=torch.bool)
    new, old, advantages = (
        torch.tensor(inputs[key], dtype=torch.float64)[mask] for key in ("logp_new", "logp_old", "adv")
    )
    losses, clipped = loss(new.requires_grad_(), old, advantages, **params)
    losses.sum().backward()
    want, slope = (np.asarray(outputs[key])[mask.numpy()] for key in ("token_loss", "token_grad"))
    assert losses.tolist() == exactly(want)
    assert new.grad.tolist() == exactly(slope)
    assert clipped.tolist() == (slope == 0).tolist()
    filled = np.zeros(mask.shape)
    filled[mask.numpy()] = losses.detach().numpy()
    rows = rows_from(inputs["mask"], inputs["turn"])
    for published, name in AGGREGATES.items():
        if published in outputs:
            assert total(name, filled, rows) == exactly(outputs[published])


def unclipped_ratio(inputs: dict, outputs: dict) -> None:
    """The surrogate without bounds. The published loss differs from r A by a constant factor of the gradient: its
    token loss is -r A log pi with r detached, so only the gradient factor r A can be compared."""
    mask = torch.tensor(inputs["mask"], dtype=torch.bool)
    new, old, advantages = (
        torch.tensor(inputs[key], dtype=torch.float64)[mask] for key in ("logp_new", "logp_old", "adv")
    )
    clip(new.requires_grad_(), old, advantages, eps_low=1.0, eps_high=float("inf"))[0].sum().backward()
    assert new.grad.tolist() == exactly(np.asarray(outputs["token_grad"])[mask.numpy()])


def aggregates(inputs: dict, outputs: dict) -> None:
    rows = rows_from(inputs["mask"], inputs["turn"])
    for published, name in AGGREGATES.items():
        assert total(name, inputs["x"], rows) == exactly(outputs[published])
    constant = total("constant", inputs["x"], rows, length=inputs["const"])
    assert constant == exactly(outputs["sum-over-B*const (Dr.GRPO, B=3 counts the empty row)"])


def means_per_token_and_sequence(inputs: dict, outputs: dict) -> None:
    for published in ("token-mean", "seq-mean-token-mean"):
        assert total(AGGREGATES[published], inputs["x"], rows_from(inputs["mask"])) == exactly(
            outputs[published]
        )


def global_denominator(inputs: dict, outputs: dict) -> None:
    """Weights come from the whole batch, so that cutting it changes nothing."""
    weights = token_weights("token_mean", rows_from(inputs["mask"]))
    parts = [float((w * np.asarray(x)).sum()) for w, x in zip(weights, inputs["x"], strict=True)]
    ends = np.cumsum(inputs["split"])
    cut = sum(sum(parts[end - size : end]) for end, size in zip(ends, inputs["split"], strict=True))
    assert cut == exactly(outputs["full"])
    assert cut == exactly(outputs["sum_over_global_count"])
    assert cut != nearly(outputs["mean_of_local_means"])


def weight_of_an_episode(inputs: dict, outputs: dict) -> None:
    """However an episode is laid out over rows, it weighs the same."""
    episodes = inputs["turn_tokens"]
    one_row = [[1] * sum(turns) for turns in episodes.values()]
    row_per_turn = [[1] * n for turns in episodes.values() for n in turns]
    leaf = [i for i, turns in enumerate(episodes.values()) for _ in turns]
    for name, want in (("sequence_mean", "one_row_per_traj_seq_mean"), ("token_mean", "token_mean")):
        whole = [w.sum() for w in token_weights(name, rows_from(one_row))]
        cut = token_weights(name, rows_from(row_per_turn, leaves=leaf))
        summed = np.bincount(leaf, weights=[w.sum() for w in cut])
        assert whole == exactly(list(outputs[want].values()))
        assert summed == exactly(list(outputs[want].values()))


def one_vote_per_episode(inputs: dict, outputs: dict) -> None:
    leaf = [int(name[1:]) for name in inputs["traj"]]
    weights = token_weights("sequence_mean", rows_from([[1]] * len(leaf), leaves=leaf))
    votes = np.array([w.sum() for w in weights]) * len(set(leaf))
    assert votes == exactly(outputs["weight"])
    assert np.bincount(leaf, weights=votes) == exactly(list(outputs["sum_per_traj"].values()))


def kl_estimators(inputs: dict, outputs: dict) -> None:
    for name, estimate in ESTIMATORS.items():
        logp = torch.tensor(inputs["logp"], dtype=torch.float64, requires_grad=True)
        values = estimate(logp, torch.tensor(inputs["ref"], dtype=torch.float64))
        values.sum().backward()
        assert values.tolist() == exactly(outputs[name])
        assert logp.grad.tolist() == exactly(outputs["grad"][name])


def entropy_and_gradient(inputs: dict, outputs: dict) -> None:
    logits = torch.tensor(inputs["logits"], dtype=torch.float64, requires_grad=True)
    value = entropy(torch.log_softmax(logits, -1))
    value.backward()
    assert float(value.detach()) == exactly(outputs["entropy"])
    assert logits.grad.tolist() == exactly(outputs["grad"])


CHECKS: dict[str, Callable[[Any, Any], None]] = {
    "reinforce_no_baseline": partial(group_credit, reinforce_credit),
    "grpo_ddof1_eps1e-6_singleton_raw": partial(group_credit, grpo, singleton="raw"),
    "grpo_ddof1_eps1e-6_singleton_zero": partial(group_credit, grpo),
    "grpo_ddof1_eps1e-4_singleton_zero": partial(group_credit, grpo, eps=1e-4),
    "grpo_ddof0_eps1e-8_singleton_zero": partial(group_credit, grpo, eps=1e-8, ddof=0),
    "dr_grpo_mean_only_singleton_raw": partial(group_credit, dr_grpo, singleton="raw"),
    "dr_grpo_mean_only_singleton_zero": partial(group_credit, dr_grpo),
    "rloo_singleton_zero": partial(group_credit, rloo),
    "unscorable_member_nan": unscorable,
    "rloo_step_rows_leak": no_leak_over_turns,
    "episode_norm_cross_steps_vs_traj": statistics_over_episodes_or_turns,
    "turn_return_to_go_g1.0": returns_of_turns,
    "turn_return_to_go_g0.0": returns_of_turns,
    "step_discounted_returns": discounted_steps,
    "gigpo_mean_crosssteps": partial(published_gigpo, unit="turn"),
    "gigpo_mean_pertraj": published_gigpo,
    "gigpo_mean_std_crosssteps": partial(published_gigpo, unit="turn", scale="std"),
    "ppo_clip_0.2": partial(token_loss, clip, eps_high=0.2),
    "ppo_clip_higher_0.2_0.28": partial(token_loss, clip),
    "ppo_dual_clip_c1.1": partial(token_loss, clip, eps_high=0.2, dual=1.1),
    "gpg_or_plain_reinforce": partial(token_loss, reinforce_loss),
    "microbatch_denominator_pitfall": global_denominator,
    "trajectory_weight_by_layout": weight_of_an_episode,
    "row_weights_one_vote_per_trajectory": one_vote_per_episode,
    "entropy_value_and_logit_grad": entropy_and_gradient,
}
PARTLY: dict[str, tuple[Callable[[Any, Any], None], str]] = {
    "anchor_self_revisit_effect": (revisited_anchor, "first_visit_only"),
    "reinforce_is_unclipped": (unclipped_ratio, "token_loss, token-mean"),
    "aggregators": (aggregates, "seq-mean-turn-mean, sum-over-const"),
    "aggregator_prompt_mean": (means_per_token_and_sequence, "prompt-mean"),
    "kl_estimators": (kl_estimators, "abs, k3plus, is_weighted_k3"),
}
# In test_exact_gradients.py, by enumeration; all but the outputs anchor_loo_singleton_raw, all_other_rows and factors.
EXACT = {
    "true_gradient",
    "expected_gradients_G2",
    "expected_gradients_G3",
    "expected_gradients_G4",
    "grpo_difficulty_weighting",
    "anchor_revisit_leak",
}
MISSING = """
maxrl_mean_normalised_eps1e-6 maxrl_mean_normalised_eps0 group_mean_batch_std_eps1e-4
rfpp_baseline_token_whitened passk_analytic_n8_c3_k4 passk_analytic_n8_c0_k4 passk_analytic_n8_c8_k4
passk_analytic_n8_c5_k4 passk_analytic_n4_c1_k1

gae_compact_g0.99_l0.95 gae_compact_g1.0_l1.0 gae_compact_g1.0_l0.95 gae_zero_masked_pitfall
gae_naive_pitfall gae_compact_truncated_bootstrap bilevel_gae_all_turn_ends
bilevel_gae_nonzero_reward_as_boundary_RAGEN_pitfall turnwise_gae_vagen_end_values
turn_gae_start_values_turnppo reinforcepp_returns_g1.0 reward_on_masked_tail_pitfall
vapo_length_adaptive_lambda vapo_decoupled_gae gae_row_split_invariance

ppo_delta_two_sided_1.3 gspo_0.0003_0.0004 turn_level_ratio_0.2_0.28 cispo_two_sided_0.2_0.2
cispo_upper_only_1.28 sapo_tau_1.0_1.05 decoupled_ppo_sequence_tis_C2 icepop_0.5_5.0 sequence_mask_C3_TRL
sequence_mask_C2 geo_rejection_0.9_1.2 verl_token_k1_bounds_are_inverted is_batch_normalised
opsm_delta_0.1 dppo_binary_tv_0.2_kltau1e-3 m2po_mask_tau_0.04 vespo_k2l3_k3l2 areal_prox_loglinear
ce_gppo_b0.5_1.0

adaptive_entropy_controller high_entropy_80_20 clip_cov_candidates kl_cov_k0.2_coef1 lp_reg_min_p_target
lp_reg_loss siren entropy_performance_law

hgpo_K0_meanstd hgpo_K1_meanstd hgpo_K1_mean_keep_zero mt_grpo igpo_paper
igpo_released_code_position_baseline_pitfall istar_grpo rudder_redistribution spa_rl_stepwise_progress
vineppo_turn_advantages vineppo_missing_values_filled soft_target_update critical_turn_mask_topk

tree_two_children_expected_gradient dynamic_sampling_scale passk_expected_gradient_n4_k1
passk_expected_gradient_n4_k2 passk_expected_gradient_n6_k3 passk_expected_gradient_n4_k4
importance_weight_bias_exact
"""
NOT_YET = set(MISSING.split())


@pytest.mark.parametrize("case", [*CHECKS, *PARTLY])
def test_the_golden_numbers_are_reproduced(case):
    check = CHECKS[case] if case in CHECKS else PARTLY[case][0]
    check(CASES[case]["inputs"], CASES[case]["outputs"])


def test_every_golden_case_is_accounted_for():
    named = [*CHECKS, *PARTLY, *EXACT, *NOT_YET]
    assert len(named) == len(set(named))
    assert set(named) == set(CASES)
    assert (len(CHECKS), len(PARTLY), len(EXACT), len(NOT_YET)) == (25, 5, 6, 71)
