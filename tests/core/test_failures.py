from __future__ import annotations

import pickle

import pytest

import agentrl
from agentrl.core.failures import (
    DeadlineExceeded,
    Failure,
    ForkMismatch,
    InfrastructureFailure,
    InvariantBroken,
    MissingExtra,
    ToolError,
    UnknownName,
    UserError,
    nearest,
)


def test_nearest_names():
    known = ["agentrl/Search-v0", "agentrl/FrozenLake-v0", "grpo", "gigpo"]
    assert nearest("serch-v0", known) == ("agentrl/Search-v0",)
    assert nearest("FROZENLAKE", known) == ("agentrl/FrozenLake-v0",)
    assert nearest("gipgo", known)[0] == "gigpo"
    assert nearest("zzz", known) == ()
    assert nearest("a", []) == ()


def test_messages_name_what_helps():
    assert str(UnknownName("method", "grp", ["grpo", "rloo"])) == "unknown method 'grp'; did you mean 'grpo'?"
    assert str(UnknownName("method", "zzz", ["grpo"])) == "unknown method 'zzz'"
    assert (
        str(MissingExtra("train", "training"))
        == "training needs an extra: pip install 'agentrl-toolkit[train]'"
    )
    assert str(DeadlineExceeded("step", "X-v0", 2.5)) == "X-v0: step failed: no answer within 2.5 s"
    assert str(InvariantBroken("a rule", "turn 3", "why")) == "a rule (at turn 3): why"


def test_whose_fault_it_was_is_a_type():
    assert issubclass(UnknownName, UserError)
    assert issubclass(MissingExtra, UserError)
    assert issubclass(DeadlineExceeded, InfrastructureFailure)
    assert not issubclass(ToolError, UserError | InfrastructureFailure)
    assert ToolError("no").kind == "tool_failed"


@pytest.mark.parametrize(
    "error",
    [
        UserError("a"),
        UnknownName("method", "grp", ["grpo"]),
        MissingExtra("train", "training"),
        ToolError("a", "unknown_tool"),
        InfrastructureFailure("step", "X-v0", "down"),
        DeadlineExceeded("step", "X-v0", 2.5),
        ForkMismatch("X-v0", 3, "a", "b"),
        InvariantBroken("a rule", "turn 3", "why"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_failures_cross_processes(error):
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)


def test_the_record_of_a_failure():
    assert Failure.of(DeadlineExceeded("reset", "X-v0", 1)) == Failure(
        "reset", "X-v0", "DeadlineExceeded", "X-v0: reset failed: no answer within 1 s"
    )
    assert Failure.of(KeyError("a"), where="step", subject="X-v0") == Failure(
        "step", "X-v0", "KeyError", "'a'"
    )


def test_public_names():
    for name in agentrl.__all__:
        assert getattr(agentrl, name).__name__ == name
    assert set(agentrl.__all__) <= set(dir(agentrl))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agentrl.nothing  # noqa: B018
