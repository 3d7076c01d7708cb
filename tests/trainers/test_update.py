"""The update as a whole, on a tiny Llama and completions that the real engine sampled."""

import asyncio
import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agentrl.core.failures import InvariantBroken
from agentrl.core.messages import assistant, user
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.inference.engine import Sampling
from agentrl.inference.hf import HFEngine
from agentrl.trainers.batch import collate
from agentrl.trainers.config import Recipe
from agentrl.trainers.logprobs import token_logprobs
from agentrl.trainers.loss.clip import clip
from agentrl.trainers.rows import Row, rows_of
from agentrl.trainers.step import StepSettings, policy_step, score
from agentrl.trainers.update import update_policy

VOCABULARY = 23


def tiny(seed: int = 0, **config: object) -> LlamaForCausalLM:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(
            LlamaConfig(
                vocab_size=VOCABULARY,
                hidden_size=16,
                intermediate_size=24,
                num_hidden_layers=2,
                num_attention_heads=2,
                max_position_embeddings=64,
                initializer_range=0.3,
                **config,
            )
        ).eval()


def sample(
    model: LlamaForCausalLM, returns: list[list[float]], sampling: Sampling | None = None
) -> list[RolloutTree]:
    """One tree for each list of returns: two-turn episodes that the engine sampled."""
    sampling = sampling or Sampling()

    async def episode(tree: RolloutTree, seed: int, reward: float, engine: HFEngine) -> None:
        fed: tuple[int, ...] = ()
        parent = None
        for k in range(2):
            context = tuple(
                int(x) for x in np.random.default_rng([seed, k]).integers(1, VOCABULARY, 2 + seed % 3)
            )
            request = Sampling(
                sampling.temperature,
                sampling.top_k,
                sampling.top_p,
                sampling.min_p,
                3 + (seed + k) % 4,
                seed=seed,
            )
            out = await engine.generate((*fed, *context), request)
            fed = (*fed, *context, *out.ids)
            parent = tree.add(
                Turn(
                    id=0,
                    parent=parent,
                    observation=(user("o"),),
                    action=assistant("a"),
                    context_ids=context,
                    completion_ids=out.ids,
                    logprobs=out.logprobs,
                    reward=reward if k else 0.0,
                    terminated=k == 1,
                )
            ).id

    async def run() -> list[RolloutTree]:
        engine = HFEngine(copy.deepcopy(model), max_context=64)
        trees = [RolloutTree(Task("env", i), requested=len(group)) for i, group in enumerate(returns)]
        for i, group in enumerate(returns):
            for j, reward in enumerate(group):
                await episode(trees[i], 10 * i + j, reward, engine)
        await engine.aclose()
        return trees

    return asyncio.run(run())


MIXED = [[1.0, 0.0, 0.0], [0.3, 0.9], [1.0, 1.0]]


@pytest.fixture(scope="module")
def trees() -> list[RolloutTree]:
    torch.set_num_threads(1)
    return sample(tiny(), MIXED)


def recipe(**sections: object) -> Recipe:
    return Recipe.model_validate(
        {"credit": {"name": "rloo"}, "optim": {"lr": 1e-2, "grad_clip": 0}, **sections}
    )


def adam(model: torch.nn.Module, lr: float = 1e-2) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def gradient(model: torch.nn.Module, rows: list[Row], **settings: object) -> torch.Tensor:
    """The gradient that one step of plain descent with learning rate 1 takes."""
    model = copy.deepcopy(model)
    before = weights(model)
    chosen = {"loss": clip, "sampling": Sampling(), "grad_clip": 0.0, **settings}
    policy_step(model, torch.optim.SGD(model.parameters(), lr=1.0), rows, StepSettings(**chosen))
    return before - weights(model)


@pytest.fixture(scope="module")
def rows(trees) -> list[Row]:
    rng = np.random.default_rng(0)
    return rows_of(trees, [rng.normal(size=len(tree)).tolist() for tree in trees])


def test_the_first_step_is_on_policy(trees):
    model = tiny()
    update = update_policy(model, adam(model), trees, recipe())
    metrics = update.metrics
    assert metrics["clip_fraction"] == 0
    assert metrics["ratio"] == pytest.approx(1, abs=1e-5)
    assert metrics["ratio_max"] == pytest.approx(1, abs=1e-4)
    assert metrics["sampler_gap"] < 1e-5
    assert abs(metrics["kl_behaviour"]) < 1e-5
    pushing = [turn for i, tree in enumerate(trees) for turn in tree if update.advantages[i][turn.id]]
    assert metrics["trained_tokens"] == sum(len(turn.completion_ids) for turn in pushing)
    assert metrics["optimizer_steps"] == 1
    assert metrics["grad_norm"] > 0
    assert (metrics["zero_variance_groups"], metrics["singleton_groups"], metrics["lr"]) == (1, 0, 1e-2)


def test_advantages_belong_to_turns(trees):
    model = tiny()
    got = update_policy(model, adam(model), trees, recipe()).advantages
    assert got[0] == pytest.approx([1, 1, -0.5, -0.5, -0.5, -0.5])
    assert got[1] == pytest.approx([-0.6, -0.6, 0.6, 0.6])
    assert got[2] == [0.0] * 4


def test_a_likelier_good_episode_and_an_unlikelier_bad_one(trees):
    model = tiny()
    rows = rows_of(trees, [[0.0] * len(tree) for tree in trees])
    settings = StepSettings(clip, Sampling())
    before = [values.sum() for values in score(model, rows, settings)]
    update_policy(model, adam(model, 1e-3), trees, recipe())
    after = [values.sum() for values in score(model, rows, settings)]
    assert after[0] > before[0]
    assert after[1] + after[2] < before[1] + before[2]
    assert after[4] > before[4]


def test_the_update_is_a_function_of_weights_optimizer_and_trees(trees):
    # Dropout is in the configuration: it must neither act nor draw random numbers.
    found = []
    for noise in (1, 2):
        model = tiny(attention_dropout=0.5)
        optimizer = adam(model)
        torch.manual_seed(noise)
        state = torch.get_rng_state()
        for _ in range(2):
            metrics = update_policy(model, optimizer, trees, recipe(entropy_coef=0.01)).metrics
        assert torch.equal(torch.get_rng_state(), state)
        found.append((weights(model), metrics))
    assert torch.equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def test_recomputed_activations_change_nothing(trees):
    plain, checkpointed = tiny(), tiny()
    checkpointed.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    calls = []
    checkpointed.model.layers[0].mlp.register_forward_pre_hook(lambda *_: calls.append(1))
    for model in (plain, checkpointed):
        update_policy(model, torch.optim.SGD(model.parameters(), lr=1.0), trees, recipe())
    assert len(calls) == 2  # once forward, once again in the backward pass
    torch.testing.assert_close(weights(plain), weights(checkpointed), atol=1e-6, rtol=0)


def test_an_adapter_is_all_that_changes(trees):
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM", lora_dropout=0.5)
    model = get_peft_model(tiny(), config)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    metrics = update_policy(model, optimizer, trees, recipe()).metrics
    changed = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert metrics["sampler_gap"] < 1e-5
    assert changed
    assert all("lora_" in name for name in changed)


@pytest.mark.parametrize("budget", [1, 40, 100_000])
def test_how_rows_are_cut_into_microbatches_does_not_matter(rows, budget):
    whole = gradient(tiny(), rows, entropy_coef=0.1)
    got = gradient(tiny(), rows, entropy_coef=0.1, tokens_per_microbatch=budget)
    torch.testing.assert_close(got, whole, atol=1e-6, rtol=0)


def test_rows_that_push_nothing_are_not_computed_and_change_nothing(rows):
    """With and without a vanishing entropy bonus, which makes every row count: the same step."""
    silent = [
        row if index % 2 else replace(row, advantages=0 * row.advantages) for index, row in enumerate(rows)
    ]
    model = tiny().double()
    torch.testing.assert_close(
        gradient(model, silent), gradient(model, silent, entropy_coef=1e-12), atol=1e-9, rtol=0
    )


@pytest.mark.parametrize("aggregate", ["token_mean", "sequence_mean", "turn_mean"])
def test_the_order_of_rows_does_not_matter(rows, aggregate):
    whole = gradient(tiny(), rows, aggregate=aggregate, tokens_per_microbatch=50)
    order = np.random.default_rng(1).permutation(len(rows))
    got = gradient(tiny(), [rows[i] for i in order], aggregate=aggregate, tokens_per_microbatch=50)
    torch.testing.assert_close(got, whole, atol=1e-6, rtol=0)


def test_minibatches_over_epochs_take_their_steps_and_drift_off_policy(trees):
    model = tiny()
    run = recipe(optim={"lr": 3e-2, "epochs": 3, "minibatches": 2, "grad_clip": 1.0})
    update = update_policy(model, adam(model, 3e-2), trees, run)
    metrics = update.metrics
    assert metrics["optimizer_steps"] == 6
    pushing = [turn for i, tree in enumerate(trees) for turn in tree if update.advantages[i][turn.id]]
    assert metrics["trained_tokens"] == 3 * sum(len(turn.completion_ids) for turn in pushing)
    assert metrics["ratio_max"] > 1.1
    assert metrics["clip_fraction"] > 0
    assert metrics["kl_behaviour"] > 0


def test_the_gradient_is_that_of_a_loss_written_out_by_hand(rows):
    model = tiny()
    logp = []
    for row in rows:
        ids = torch.from_numpy(row.ids)
        all_logp = torch.log_softmax(model(ids[None]).logits[0], -1)
        at = np.flatnonzero(row.mask)
        logp.append(all_logp[at - 1, ids[at]])
    advantages = torch.from_numpy(np.concatenate([row.advantages[row.mask] for row in rows])).float()
    new = torch.cat(logp)
    (-(new - new.detach()).exp() * advantages).mean().backward()
    want = torch.cat([p.grad.flatten() for p in model.parameters()])
    torch.testing.assert_close(gradient(tiny(), rows), want, atol=1e-6, rtol=1e-4)


def test_groups_of_equal_returns_change_no_weight():
    model = tiny()
    before = weights(model)
    update = update_policy(model, adam(model), sample(model, [[1.0, 1.0], [0.1, 0.1, 0.1]]), recipe())
    assert torch.equal(weights(model), before)
    assert update.advantages == [[0.0] * 4, [0.0] * 6]
    why = update.metrics["no_gradient_because"]
    assert why.startswith("every advantage is 0: of 2 groups 2 have equal returns and 0 one scored episode")
    assert update.metrics["optimizer_steps"] == 0
    assert update.metrics["zero_variance_groups"] == 2


def test_episodes_without_company_are_named_as_the_reason():
    model = tiny()
    why = update_policy(model, adam(model), sample(model, [[1.0], [0.0]]), recipe()).metrics
    assert "0 have equal returns and 2 one scored episode" in why["no_gradient_because"]


def test_a_row_beyond_the_models_context_is_refused_before_anything_changes(trees):
    model = tiny()
    before = weights(model)
    longest = max(len(row) for row in rows_of(trees, [[0.0] * len(tree) for tree in trees]))
    update_policy(tiny(), adam(tiny()), trees, recipe(model={"max_context": longest}))
    with pytest.raises(InvariantBroken, match=f"{longest} tokens of {longest - 1}"):
        update_policy(model, adam(model), trees, recipe(model={"max_context": longest - 1}))
    assert torch.equal(weights(model), before)


def test_no_trees_at_all_change_nothing():
    model = tiny()
    before = weights(model)
    for credit in ("reinforce", "rloo", "grpo", "dr_grpo", "gigpo", "turn_return"):
        update = update_policy(model, adam(model), [], recipe(credit={"name": credit}))
        assert update.advantages == []
        assert "no sampled tokens" in update.metrics["no_gradient_because"]
    assert torch.equal(weights(model), before)


def test_a_group_of_equal_returns_dilutes_but_does_not_push(trees):
    # The third group has advantage 0: it is in the denominator alone.
    advantages = [[1.0] * len(tree) for tree in trees[:2]] + [[0.0] * len(trees[2])]
    with_third = gradient(tiny(), rows_of(trees, advantages))
    without = gradient(tiny(), rows_of(trees[:2], advantages[:2]))
    tokens = [sum(len(turn.completion_ids) for turn in tree) for tree in trees]
    share = sum(tokens[:2]) / sum(tokens)
    torch.testing.assert_close(with_third, without * share, atol=1e-6, rtol=0)


def test_kl_in_the_loss_pulls_towards_the_reference(trees):
    model, reference = tiny(0), tiny(1)
    flat = sample(model, [[1.0, 1.0]])
    run = recipe(kl={"name": "k2", "coef": 1.0})
    optimizer = adam(model, 1e-2)
    first = update_policy(model, optimizer, flat, run, reference=reference).metrics
    for _ in range(10):
        last = update_policy(model, optimizer, flat, run, reference=reference).metrics
    assert 0 < last["kl_reference"] < 0.5 * first["kl_reference"]


def test_kl_in_the_reward_is_taken_off_every_turn():
    model, reference = tiny(0), tiny(1)
    (tree,) = sample(model, [[0.0, 0.0]])
    run = recipe(
        kl={"name": "k1", "coef": 0.5, "place": "reward"},
        credit={"name": "turn_return", "baseline": "none", "gamma": 0.0},
    )
    got = update_policy(model, adam(model), [tree], run, reference=reference).advantages[0]
    want = []
    for turn in tree:
        ids = torch.tensor([*tree.prompt_ids(turn.id), *turn.completion_ids])
        logp = torch.log_softmax(reference(ids[None]).logits[0], -1)
        n = len(turn.completion_ids)
        anchor = logp[-n - 1 : -1].gather(-1, ids[-n:, None]).sum()
        want.append(-0.5 * (sum(turn.logprobs) - float(anchor.detach())))
    assert got == pytest.approx(want, abs=1e-4)


def test_the_samplers_gap_is_taken_before_the_weights_move(trees):
    model = tiny()
    run = recipe(optim={"lr": 1.0, "epochs": 2, "minibatches": 3, "grad_clip": 0})
    metrics = update_policy(model, adam(model, 1.0), trees, run).metrics
    assert metrics["optimizer_steps"] == 6
    assert abs(metrics["kl_behaviour"]) > 0.1
    assert metrics["sampler_gap_max"] < 1e-4


def test_the_entropy_bonus_raises_entropy(trees):
    flat = sample(tiny(), [[1.0, 1.0]])
    model = tiny()
    optimizer = adam(model)
    first, *_, last = [
        update_policy(model, optimizer, flat, recipe(entropy_coef=1.0)).metrics["entropy"] for _ in range(5)
    ]
    assert last > first


@pytest.mark.parametrize(
    "sampling",
    [Sampling(temperature=0.7), Sampling(top_k=3), Sampling(top_p=0.6), Sampling(temperature=1.3, min_p=0.2)],
    ids=["temperature", "top_k", "top_p", "min_p"],
)
def test_the_trainer_scores_under_the_distribution_that_was_sampled_from(sampling):
    model = tiny()
    made = sample(model, MIXED, sampling)
    keep = {"temperature": sampling.temperature, "top_k": sampling.top_k}
    run = recipe(rollout={"sampling": {**keep, "top_p": sampling.top_p, "min_p": sampling.min_p}})
    metrics = update_policy(model, adam(model), made, run).metrics
    assert metrics["outside_support"] == 0
    assert metrics["sampler_gap_max"] < 1e-4
    assert metrics["ratio"] == pytest.approx(1, abs=1e-4)


def test_a_token_outside_the_trainers_support_pushes_nothing(trees):
    # Sampled from everything, trained as if from the two likeliest: many tokens have no ratio.
    model = tiny()
    run = recipe(rollout={"sampling": {"top_k": 2}})
    metrics = update_policy(model, adam(model), trees, run).metrics
    assert 0 < metrics["outside_support"] < metrics["trained_tokens"]
    assert all(np.isfinite(value) for value in metrics.values())
    assert torch.isfinite(weights(model)).all()


def test_recomputed_old_log_probabilities_start_at_ratio_one(trees):
    stale = tiny(5)
    metrics = update_policy(stale, adam(stale), trees, recipe(optim={"old_logprobs": "recompute"})).metrics
    assert metrics["ratio_max"] == pytest.approx(1, abs=1e-5)
    assert metrics["sampler_gap"] > 0.1


def test_a_gradient_that_is_no_number_is_not_taken(rows):
    model = tiny()
    before = weights(model)
    broken = [replace(row, advantages=row.advantages * 1e300) for row in rows]
    metrics = policy_step(model, adam(model), broken, StepSettings(clip, Sampling()))
    assert (metrics["optimizer_steps"], metrics["steps_skipped"]) == (0, 1)
    assert torch.equal(weights(model), before)


def test_no_more_logits_than_a_chunk_outlive_the_forward_pass(rows):
    model = tiny()
    batch = collate(rows, range(len(rows)), torch.device("cpu"))
    tokens, chunk, kept = int(batch.mask.sum()), 5, []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        token_logprobs(model, batch, Sampling(), chunk=chunk)
        recomputed = sum(t.shape[-1:] == (VOCABULARY,) for t in kept if t.dim() == 2 and len(t) <= tokens)
        kept.clear()
        token_logprobs(model, batch, Sampling(), chunk=tokens)
        whole = sum(t.shape == (tokens, VOCABULARY) for t in kept)
    assert (recomputed, whole > 0) == (0, True)


def test_a_half_precision_model_is_scored_in_single_precision(rows):
    batch = collate(rows, range(len(rows)), torch.device("cpu"))
    whole = token_logprobs(tiny(), batch, Sampling())
    half = token_logprobs(tiny().to(torch.bfloat16), batch, Sampling())
    for exact, rough in zip(whole, half, strict=True):
        assert rough.dtype == torch.float32
        torch.testing.assert_close(rough, exact, atol=0.15, rtol=0)
    assert not torch.equal(half[0], half[0].to(torch.bfloat16).float())  # finer than bfloat16 can hold


def test_chunks_of_the_output_layer_change_nothing(rows):
    model = tiny()
    batch = collate(rows, range(len(rows)), torch.device("cpu"))
    found = []
    for chunk in (5, 10_000):
        model.zero_grad()
        logp, entropy = token_logprobs(model, batch, Sampling(), chunk=chunk)
        (logp.sum() + entropy.sum()).backward()
        found.append(
            (logp.detach(), entropy.detach(), torch.cat([p.grad.flatten() for p in model.parameters()]))
        )
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-5)
