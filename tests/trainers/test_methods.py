"""The catalogue of methods, and how a recipe's components are checked against it."""

import subprocess
import sys

import pytest

from agentrl.core.failures import UnknownName, UserError
from agentrl.trainers.config import Component, load_recipe
from agentrl.trainers.methods import all_methods, check_component, component, find_method, get_method


def test_every_method_is_there_once_and_says_what_it_is():
    methods = all_methods()
    assert len({method.name for method in methods}) == len(methods)
    for method in methods:
        document = method.to_dict()
        assert callable(method.load())
        assert all(document[key] for key in ("name", "paper", "plug_in_point", "formula", "fidelity", "bias"))
    assert {method.plug_in_point for method in methods} == {"credit", "loss", "kl", "aggregate", "entropy"}
    credit = {method.name for method in methods if method.plug_in_point == "credit"}
    assert credit == {"reinforce", "rloo", "grpo", "dr_grpo", "gigpo", "turn_return"}


def test_defaults_and_choices_are_those_of_the_functions():
    gigpo = find_method("gigpo").to_dict()
    assert gigpo["defaults"]["omega"] == 1.0
    assert gigpo["defaults"]["gamma"] == 0.95
    assert gigpo["choices"] == {"scale": ["none", "std"], "unit": ["episode", "turn"]}
    assert find_method("clip").to_dict()["defaults"] == {"eps_low": 0.2, "eps_high": 0.28, "dual": 0.0}


def test_the_catalogue_needs_no_torch():
    code = (
        "import sys; from agentrl.trainers.methods import all_methods; "
        "[m.to_dict() for m in all_methods()]; import agentrl.trainers.config; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_name_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'gigpo'"):
        find_method("gigop")
    with pytest.raises(UnknownName, match="unknown credit method 'grop'; did you mean 'grpo'"):
        get_method("credit", "grop")
    with pytest.raises(UnknownName, match="unknown loss method"):
        get_method("loss", "grpo")


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (["credit.name=gigpo", "credit.omga=1"], "unknown parameter of gigpo 'omga'; did you mean 'omega'"),
        (["credit.name=gigpo", "credit.scale=sdt"], "unknown scale of gigpo 'sdt'; did you mean 'std'"),
        (["credit.name=turn_return", "credit.baseline=bach"], "unknown baseline of turn_return 'bach'"),
        (["credit.name=gigpo", "credit.omega=true"], "parameter omega of gigpo must be like 1.0"),
        (["credit.name=gigpo", "credit.scale=1"], "parameter scale of gigpo must be like 'none'"),
        (["loss.eps_hihg=0.3"], "unknown parameter of clip 'eps_hihg'; did you mean 'eps_high'"),
        (["aggregate.name=constant"], "needs a length"),
        (["rollout.sampling.temperature=0"], "temperature: input should be greater than 0"),
    ],
)
def test_a_recipe_with_a_wrong_component_does_not_load(override, sentence):
    with pytest.raises(UserError, match=sentence):
        load_recipe("base", override)


def test_a_component_carries_its_parameters():
    loss = component("loss", Component(name="clip", eps_low=0.1))
    assert loss.keywords == {"eps_low": 0.1}
    assert check_component("credit", Component(name="gigpo", exclude_own=False)).name == "gigpo"
