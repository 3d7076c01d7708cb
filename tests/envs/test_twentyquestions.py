from collections import Counter
from itertools import product
from random import Random

import gymnasium.utils.env_checker
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import play

import agentrl
from agentrl.check import check_env
from agentrl.check.audit import audit_env
from agentrl.core.failures import UserError
from agentrl.core.messages import Message, ToolCall, call, text_of
from agentrl.envs.games.twentyquestions.env import as_call
from agentrl.envs.games.twentyquestions.facts import all_countries, known, spellings
from agentrl.envs.games.twentyquestions.questions import (
    Question,
    answer,
    best_question,
    parts,
    remaining,
    usual,
)
from agentrl.envs.search.world import countries, fold

BY_NAME = {country.name: country for country in all_countries()}
EVERY = (1 << len(BY_NAME)) - 1


def make(**kwargs):
    return agentrl.make("TwentyQuestions-v0", **kwargs)


def about(name, **kwargs):
    """An environment that means this country."""
    env = make(**kwargs)
    env.reset(seed=0)
    env.hidden = name
    return env


def test_the_countries_are_those_of_search_with_the_same_facts():
    world = countries()
    assert tuple(BY_NAME) == world.subjects
    for name, country in BY_NAME.items():
        fact = {
            relation: world.fact[name, relation].value
            for relation in ("capital", "currency", "language", "region")
        }
        assert country.capital == fact["capital"]
        assert fact["currency"] in country.currencies
        assert fact["language"] in country.languages
        assert fact["region"] in country.regions
        if (name, "neighbour") in world.fact:
            assert world.fact[name, "neighbour"].value in country.borders
        else:
            assert not country.borders
        assert country.area > 0
        assert country.population > 0


def test_borders_are_mutual():
    for name, country in BY_NAME.items():
        assert name not in country.borders | country.doubtful
        assert not country.borders & country.doubtful
        assert all(name in BY_NAME[other].borders for other in country.borders)
        assert all(name in BY_NAME[other].doubtful for other in country.doubtful)


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("france", "France"),
        (" CÔTE D'IVOIRE ", "Ivory Coast"),
        ("sao tome and principe", "São Tomé and Príncipe"),
        ("usa", "United States"),
        ("Guinea Bissau", "Guinea-Bissau"),
        ("Congo", "Congo"),
        ("Congo-Kinshasa", "DR Congo"),
        ("Czechia", "Czech Republic"),
        ("Niger", "Niger"),
        ("Korea", None),
        ("Atlantis", None),
        ("", None),
        ("?!", None),
    ],
)
def test_spellings(given_name, name):
    assert spellings().get(fold(given_name)) == name


def test_a_name_means_its_own_country():
    assert all(spellings()[fold(name)] == name for name in BY_NAME)
    assert len({fold(name) for name in BY_NAME}) == len(BY_NAME) == 220


@pytest.mark.parametrize(
    ("name", "question", "said"),
    [
        ("France", ("region", "Europe"), "yes"),
        ("France", ("region", "Western Europe"), "yes"),
        ("France", ("region", "Africa"), "no"),
        ("Kenya", ("region", "Eastern Africa"), "yes"),
        ("Switzerland", ("language", "Italian"), "yes"),
        ("Switzerland", ("language", "Spanish"), "no"),
        ("Panama", ("currency", "US dollar"), "yes"),
        ("France", ("border", "Spain"), "yes"),
        ("Spain", ("border", "France"), "yes"),
        ("France", ("border", "Austria"), "no"),
        ("Serbia", ("border", "Albania"), "unknown"),  # stated of Serbia alone
        ("Albania", ("border", "Serbia"), "unknown"),
        ("Iceland", ("border", "Norway"), "no"),
        ("France", ("area", 640_679), "yes"),
        ("France", ("area", 640_680), "no"),
        ("France", ("population", 66_078_000), "yes"),
        ("France", ("population", 66_078_001), "no"),
        ("Monaco", ("area", 3), "no"),  # 2.02 km²
        ("France", ("country starts with", "f"), "yes"),
        ("France", ("country starts with", "r"), "no"),
        ("France", ("country contains", "r"), "yes"),
        ("France", ("capital starts with", "p"), "yes"),
        ("France", ("capital contains", "f"), "no"),
        ("São Tomé and Príncipe", ("country contains", "a"), "yes"),
        ("Austria", ("country contains", "l"), "no"),
    ],
)
def test_answers_by_hand(name, question, said):
    assert answer(Question(*question), BY_NAME[name]) == said


def test_every_two_countries_are_told_apart_by_the_questions():
    answers = {
        name: tuple(answer(question, country) for question in usual()) for name, country in BY_NAME.items()
    }
    assert len(set(answers.values())) == 220


def test_the_parts_of_a_question_are_the_countries_that_answer_so():
    for question in Random(0).sample(usual(), 60):
        masks = parts(question)
        assert sum(masks.values()) == EVERY
        for index, country in enumerate(all_countries()):
            assert masks[answer(question, country)] >> index & 1


def test_eight_questions_are_enough():
    """Every way through the expert's questions."""

    def longest(left):
        question = best_question(left)
        if question is None:
            assert left.bit_count() == 1
            return 0
        return 1 + max(longest(left & mask) for mask in parts(question).values() if left & mask)

    assert longest(EVERY) == 8


@given(st.integers(0, 219), st.lists(st.integers(0, len(usual()) - 1), max_size=12))
def test_the_hidden_country_always_remains(index, chosen):
    country = all_countries()[index]
    told = [(usual()[number], answer(usual()[number], country)) for number in chosen]
    left = remaining(told)
    assert left >> index & 1
    for other in range(220):
        fits = all(answer(question, all_countries()[other]) == said for question, said in told)
        assert fits == bool(left >> other & 1)


def test_the_expert_solves_every_country_with_nine_calls_at_most():
    env = make(questions=8)
    for name in BY_NAME:
        env.reset(seed=0)
        env.hidden, info = name, {}
        while "success" not in info:
            info = env.step(env.expert())[-1]
        assert info["success"], name
        assert info["turn"] <= 9


def test_the_expert_solves_every_split():
    env = make()
    for split, seed in product(env.splits, range(40)):
        total, info = play(env, seed, split)
        assert (total, info["success"], info["tool_errors"]) == (1.0, True, [])


def test_the_expert_goes_on_from_anywhere():
    env = make()
    for seed in range(40):
        env.reset(seed=seed)
        rng, info = Random(seed), {}
        for question in rng.sample(usual(), 12):
            env.step(as_call(question))
        assert len(env.told) == 12
        while "success" not in info:
            info = env.step(env.expert())[-1]
        assert info["success"]


def test_where_no_question_is_left_the_expert_guesses_what_fits():
    env = about("France", questions=8)
    for _ in range(9):
        observation, *_ = env.step(call("ask_region", name="Europe"))
    assert text_of(observation) == "error: no question is left: guess"
    action = env.expert()
    assert action.tool_calls[0].name == "guess"
    assert text_of(env.step(action)[0]) in ("No, that is not it.", "Yes, that is it.")


def test_no_country_is_the_answer_in_two_splits_or_more_often_than_another():
    env, seen = make(), {}
    for split in env.splits:
        seen[split] = Counter()
        for seed in range(2 * 177):
            env.reset(seed=seed, options={"split": split})
            seen[split][env.hidden] += 1
    assert [len(seen[split]) for split in env.splits] == [177, 22, 21]
    assert len(set().union(*seen.values())) == 220
    assert set(seen["train"].values()) == {2}
    # Whoever guesses the same country each time is right as often as it is the answer.
    assert all(max(counts.values()) / counts.total() < 0.05 for counts in seen.values())


def test_a_game_by_hand():
    env = about("France")
    observation, *_ = env.step(call("ask_region", name="europe"))
    assert text_of(observation) == "Yes. 19 questions left."
    observation, *_ = env.step(call("ask_border", country="Deutschland"))
    assert text_of(observation) == "error: 'Deutschland' is no known country"
    observation, *_ = env.step(call("ask_border", country="germany"))
    assert text_of(observation) == "Yes. 18 questions left."
    observation, *_ = env.step(call("ask_number", of="area", at_least=1_000_000))
    assert text_of(observation) == "No. 17 questions left."
    observation, *_ = env.step(call("ask_letter", of="capital", letter="P"))
    assert text_of(observation) == "Yes. 16 questions left."
    observation, reward, terminated, _, info = env.step(call("guess", country="FRANCE"))
    assert text_of(observation) == "Yes, that is it."
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_a_wrong_guess_ends_the_task_and_does_not_tell():
    env = about("France")
    observation, reward, terminated, _, info = env.step(call("guess", country="Spain"))
    assert text_of(observation) == "No, that is not it."
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_unknown_is_said():
    env = about("Serbia")
    assert text_of(env.step(call("ask_border", country="Albania"))[0]) == "Unknown. 19 questions left."


def test_several_questions_in_one_message_each_count():
    env = about("France", questions=8)
    calls = [ToolCall.make("ask_letter", of="country", letter=letter) for letter in "abcdefghi"]
    observation, *_ = env.step(Message("assistant", "", (*calls, ToolCall.make("guess", country="France"))))
    texts = [text_of(observation[index : index + 1]) for index in range(10)]
    assert texts[5] == "Yes. 2 questions left."
    assert texts[6] == "No. 1 question left."
    assert texts[8:] == ["error: no question is left: guess", "Yes, that is it."]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask_region", {"name": "Narnia"}, "known are Africa"),
        ("ask_region", {"name": "x" * 9000}, "no known region"),
        ("ask_language", {"name": ""}, "no known language"),
        ("ask_currency", {"name": "doubloon"}, "'doubloon' is no known currency"),
        ("ask_border", {"country": "日本"}, "no known country"),
        ("ask_number", {"of": "area", "at_least": 0}, "from 1 to"),
        ("ask_number", {"of": "area", "at_least": 10**400}, "from 1 to"),
        ("ask_number", {"of": "height", "at_least": 5}, "of"),
        ("ask_letter", {"of": "country", "letter": "ab"}, "one of a to z"),
        ("ask_letter", {"of": "country", "letter": ""}, "one of a to z"),
        ("ask_letter", {"of": "country", "letter": "é"}, "one of a to z"),
        ("guess", {"country": ""}, "'' is no known country"),
        ("guess", {}, "country"),
    ],
)
def test_a_call_that_cannot_be_understood_is_no_question(tool, arguments, said):
    env = about("France")
    observation, reward, terminated, _, info = env.step(call(tool, **arguments))
    text = text_of(observation)
    assert text.startswith("error: ")
    assert said in text
    assert len(text) < 900
    assert (reward, terminated, len(info["tool_errors"]), env.told) == (0.0, False, 1, ())


def test_what_the_expert_asks_is_what_is_recorded():
    env = about("France", questions=40, max_turns=1000)
    for question in usual():
        env.told = ()
        env.step(as_call(question))
        assert [asked for asked, _ in env.told] == [question]


def test_the_key_is_the_set_of_answers():
    env, other = about("France"), about("France")
    calls = [call("ask_region", name="Asia"), call("ask_language", name="French")]
    for one, two in zip(calls, reversed(calls), strict=True):
        env.step(one)
        other.step(two)
    assert env.state_key() == other.state_key() == "language French: yes; region Asia: no"
    other.step(call("ask_region", name="asia"))
    assert env.state_key() == other.state_key()


def test_what_is_known_of_a_kind():
    assert next(iter(known("languages").values())) == "English"
    assert known("currencies")["us dollar"] == "US dollar"
    assert {"Africa", "Americas", "Asia", "Europe", "Oceania"} < set(known("regions").values())


@pytest.mark.parametrize(
    "kwargs", [{"questions": 7}, {"questions": 41}, {"questions": 8.0}, {"max_turns": -3}]
)
def test_wrong_settings_are_refused(kwargs):
    with pytest.raises(UserError):
        make(**kwargs)


def test_a_fork_goes_its_own_way():
    env, other = make(), make()
    env.reset(seed=5)
    env.step(env.expert())
    before = env.state_key()
    other.restore(env.snapshot())
    other.step(other.expert())
    assert (env.state_key(), other.state_key() != before) == (before, True)
    assert len(repr(env.snapshot().payload["told"])) < 200


def test_gymnasiums_checker_passes():
    gymnasium.utils.env_checker.check_env(make(), skip_render_check=True)


@pytest.mark.slow
def test_the_rules_hold():
    report = check_env("agentrl/TwentyQuestions-v0")
    assert report.ok, [check for check in report.checks if not check.ok]
    document = audit_env("agentrl/TwentyQuestions-v0", episodes=30)
    assert document["ok"], document["policies"]
