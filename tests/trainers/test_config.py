import pytest

from agentrl.core.failures import UnknownName, UserError
from agentrl.trainers.config import build, load_recipe, parse_override, recipe_names, to_toml
from agentrl.trainers.tasks import tasks_of


def test_every_shipped_recipe_resolves():
    for name in recipe_names():
        recipe = load_recipe(name)
        assert recipe.loss.name == "clip"
        assert recipe.loss.params["eps_high"] == 0.28
        assert build(recipe.model_dump()) == recipe


def test_the_demo_recipe():
    recipe = load_recipe("search-tiny")
    assert (recipe.name, recipe.env.id, recipe.rollout.group_size) == ("search-tiny", "agentrl/Search-v0", 8)
    assert recipe.rollout.sampling.sampling().max_tokens == recipe.rollout.sampling.max_tokens


def test_overrides_win_and_extends_can_be_swapped():
    recipe = load_recipe("search-tiny", ["seed=3", "optim.lr=1e-3", "extends=gigpo", "env.kwargs.top_k=2"])
    assert recipe.seed == 3
    assert recipe.optim.lr == 1e-3
    assert recipe.credit.name == "gigpo"
    assert recipe.env.kwargs["top_k"] == 2
    assert recipe.model.name == "tiny-search"


def test_naming_another_component_drops_the_old_parameters():
    recipe = load_recipe("search-tiny", ["credit.name=gigpo", "credit.omega=0.5"])
    assert recipe.credit.params == {"omega": 0.5}
    recipe = load_recipe("search-tiny", ["credit.name=gigpo", "credit.omega=0.5", "credit.name=grpo"])
    assert recipe.credit.params == {}


@pytest.mark.parametrize(
    ("overrides", "nearest"),
    [(["rollout.group_sise=4"], "rollout.group_size"), (["sed=4"], "seed"), (["optim.learning=1"], "optim")],
)
def test_an_unknown_key_names_the_nearest(overrides, nearest):
    with pytest.raises(UnknownName) as error:
        load_recipe("search-tiny", overrides)
    assert overrides[0].split("=")[0] in str(error.value)
    if "." in nearest or nearest == "seed":
        assert nearest in str(error.value)


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(UnknownName, match="search-tiny"):
        load_recipe("serch-tiny")


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["steps=0"], "recipe key steps: input should be greater than or equal to 1"),
        (["steps=many"], "recipe key steps: input should be a valid integer"),
        (["seed"], "--set takes key=value"),
        (["seed.x=1"], "recipe key seed|seed is not a table"),
        (["model.device=tpu"], "recipe key model.device"),
    ],
)
def test_bad_values_are_one_sentence(overrides, sentence):
    with pytest.raises(UserError, match=sentence):
        load_recipe("search-tiny", overrides)


def test_broken_and_circular_files(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("a = = 1")
    with pytest.raises(UserError, match="not valid TOML"):
        load_recipe(str(broken))
    circle = tmp_path / "circle.toml"
    circle.write_text(f'extends = "{circle}"')
    with pytest.raises(UserError, match="circle"):
        load_recipe(str(circle))
    with pytest.raises(UserError, match="no recipe file"):
        load_recipe(str(tmp_path / "missing.toml"))


def test_values_are_toml_and_bare_words_are_strings():
    assert parse_override("a.b=1e-3") == ("a.b", 1e-3)
    assert parse_override("a=true") == ("a", True)
    assert parse_override("a=[1, 2]") == ("a", [1, 2])
    assert parse_override("a=x=y") == ("a", "x=y")


def test_tasks_are_a_function_of_recipe_and_step():
    recipe = load_recipe("search-tiny", ["rollout.tasks_per_step=4", "env.tasks=6"])
    seeds = [task.seed for step in (1, 2, 3) for task in tasks_of(recipe, step)]
    assert sorted(seeds[:6]) == sorted(seeds[6:]) == list(range(6))
    assert seeds[:6] != seeds[6:]
    assert tasks_of(recipe, 2) == tasks_of(recipe, 2)
    fresh = load_recipe("search-tiny", ["rollout.tasks_per_step=4", "seed=2"])
    assert [task.seed for task in tasks_of(fresh, 2)] == [20_000_004, 20_000_005, 20_000_006, 20_000_007]


def test_a_resolved_recipe_can_be_written_and_read_back(tmp_path):
    recipe = load_recipe(
        "search-tiny", ["seed=3", 'summary="a \\"quoted\\" ünicode"', "env.kwargs.hops=[1, 2]"]
    )
    path = tmp_path / "resolved.toml"
    path.write_text(to_toml(recipe))
    assert load_recipe(str(path)) == recipe
