"""The sampling distribution by hand on four logits, its ties, and draws from it."""

from math import log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agentrl.core.failures import UserError
from agentrl.inference.distribution import draw, log_distribution, sampling_logprobs, support
from agentrl.inference.engine import Sampling

LOGITS = torch.tensor([log(0.1), log(0.4), log(0.2), log(0.3)])


def probabilities(logits: torch.Tensor, **settings: float) -> list[float]:
    return log_distribution(logits, Sampling(**settings)).exp().tolist()


@pytest.mark.parametrize(
    ("settings", "want"),
    [
        ({}, [0.1, 0.4, 0.2, 0.3]),
        ({"temperature": 0.5}, [1 / 30, 16 / 30, 4 / 30, 9 / 30]),
        ({"temperature": 0}, [0, 1, 0, 0]),
        ({"top_k": 1}, [0, 1, 0, 0]),
        ({"top_k": 2}, [0, 4 / 7, 0, 3 / 7]),
        ({"top_k": 4}, [0.1, 0.4, 0.2, 0.3]),
        ({"top_k": 9}, [0.1, 0.4, 0.2, 0.3]),
        ({"top_p": 1e-6}, [0, 1, 0, 0]),
        ({"top_p": 0.39}, [0, 1, 0, 0]),
        ({"top_p": 0.41}, [0, 4 / 7, 0, 3 / 7]),
        ({"top_p": 0.75}, [0, 4 / 9, 2 / 9, 3 / 9]),
        ({"min_p": 0.6}, [0, 4 / 7, 0, 3 / 7]),
        ({"min_p": 0.45}, [0, 4 / 9, 2 / 9, 3 / 9]),
        # Each filter sees what the one before left: 4/9 alone is below 0.5, with 3/9 it is not.
        ({"top_k": 3, "top_p": 0.5}, [0, 4 / 7, 0, 3 / 7]),
        # Without top-k, 0.4 + 0.3 are not above 0.72; after it, they are 0.78.
        ({"top_k": 3, "top_p": 0.72}, [0, 4 / 7, 0, 3 / 7]),
        ({"temperature": 0.5, "min_p": 0.5}, [0, 16 / 25, 0, 9 / 25]),
    ],
)
def test_the_filters_by_hand(settings, want):
    assert probabilities(LOGITS, **settings) == pytest.approx(want, abs=1e-6)
    for token, p in enumerate(want):
        got = float(sampling_logprobs(LOGITS, torch.tensor(token), Sampling(**settings)))
        assert got == pytest.approx(log(p) if p else 0.0 if settings.get("temperature") == 0 else -torch.inf)


def test_equal_logits_at_a_cut_stay_together():
    tied = torch.tensor([1.0, 2.0, 1.0, 0.0])
    assert support(tied, Sampling(top_k=2)).tolist() == [True, True, True, False]
    assert support(tied, Sampling(top_p=0.6)).tolist() == [True, True, True, False]
    flat = torch.zeros(4)
    assert probabilities(flat, top_k=1) == [0.25] * 4
    assert probabilities(flat, top_p=0.1) == [0.25] * 4
    assert probabilities(flat, temperature=0) == [1.0, 0, 0, 0]


def test_rows_are_independent_and_half_precision_is_widened():
    both = torch.stack([LOGITS, LOGITS.flip(0)]).bfloat16()
    out = log_distribution(both, Sampling(top_k=2))
    assert out.dtype == torch.float32
    assert (out[0] == -torch.inf).tolist() == [True, False, True, False]
    assert (out[1] == -torch.inf).tolist() == [False, True, False, True]


def test_gradients_reach_only_what_may_be_sampled():
    logits = LOGITS.clone().requires_grad_()
    log_distribution(logits, Sampling(top_k=2, temperature=2.0))[1].backward()
    # d log p_1 / d logits = (1 - p_1, -p_3) / temperature, with p_1 = 2 / (2 + sqrt 3).
    p = 2 / (2 + 3**0.5)
    assert logits.grad.tolist() == pytest.approx([0, (1 - p) / 2, 0, -(1 - p) / 2], abs=1e-6)


def test_draws_by_hand():
    rows = torch.log(torch.tensor([[0.25, 0.0, 0.5, 0.25]])).repeat(6, 1)
    u = torch.tensor([0.0, 0.24, 0.26, 0.74, 0.76, 1 - 2.0**-53], dtype=torch.float64)
    assert draw(rows, u).tolist() == [0, 0, 2, 2, 3, 3]
    first_impossible = torch.log(torch.tensor([[0.0, 1.0, 0.0]]))
    for number in (0.0, 1 - 2.0**-53):
        assert draw(first_impossible, torch.tensor([number], dtype=torch.float64)).tolist() == [1]


numbers = st.floats(-30, 30, width=32)


@given(
    st.lists(numbers, min_size=1, max_size=40),
    st.sampled_from(
        [Sampling(), Sampling(top_k=2), Sampling(top_p=0.3), Sampling(min_p=0.9), Sampling(temperature=0)]
    ),
    st.one_of(st.sampled_from([0.0, 1 - 2.0**-53]), st.floats(0, 1, exclude_max=True)),
)
def test_a_token_of_probability_zero_is_never_drawn(logits, sampling, u):
    logp = log_distribution(torch.tensor([logits]), sampling)
    token = int(draw(logp, torch.tensor([u], dtype=torch.float64)))
    assert logp[0, token] > -torch.inf
    assert logp[0, token].double().exp() > 0


@given(st.lists(numbers, min_size=1, max_size=40), st.integers(0, 6), st.floats(0.01, 1), st.floats(0, 0.99))
def test_every_distribution_sums_to_one_and_keeps_the_likeliest(logits, top_k, top_p, min_p):
    tensor = torch.tensor(logits)
    logp = log_distribution(tensor, Sampling(top_k=top_k, top_p=top_p, min_p=min_p))
    assert float(logp.exp().sum()) == pytest.approx(1, abs=1e-5)
    assert logp[int(tensor.argmax())] == logp.max()
    kept = logp > -torch.inf
    # Whatever is kept is at least as likely as whatever is dropped.
    assert kept.all() or tensor[kept].min() > tensor[~kept].max()


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -1},
        {"top_k": -1},
        {"top_p": 0},
        {"top_p": 1.1},
        {"min_p": 1.0},
        {"max_tokens": 0},
        {"temperature": float("nan")},
    ],
)
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(UserError, match=next(iter(settings))):
        Sampling(**settings)
