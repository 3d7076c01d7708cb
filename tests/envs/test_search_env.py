"""`Search-v0` as a policy, a trainer and Gymnasium meet it."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from agentrl.core.failures import UnknownName, UserError
from agentrl.core.messages import Message, ToolCall, assistant, call, text_of
from agentrl.envs.search.demonstrate import facts_in, progress
from agentrl.envs.search.env import SearchEnv
from agentrl.envs.search.questions import within
from agentrl.envs.search.sites import RANDOM_WORLDS, SEEDS_PER_WORLD, random_site, real_site
from agentrl.envs.search.world import countries, fold

MALI = Message("assistant", "", (ToolCall.make("search", query="capital Mali"),))


def play(env: SearchEnv, seed: int, policy=None) -> tuple[float, int, list[str]]:
    """(return, turns, what was shown) of one episode; the expert plays unless told otherwise."""
    observation, _ = env.reset(seed=seed)
    shown, total = [text_of(observation)], 0.0
    for turn in range(1, 100):
        observation, reward, terminated, truncated, _ = env.step(policy(env) if policy else env.expert())
        shown.append(text_of(observation))
        total += reward
        if terminated or truncated:
            return total, turn, shown
    raise AssertionError("an episode ends")


def asking(text: str, **kwargs) -> SearchEnv:
    """An environment that has just asked `text`."""
    env = SearchEnv(**kwargs)
    for seed in range(10_000):
        env.reset(seed=seed)
        if env.question.text == text:
            return env
    raise AssertionError(f"{text} is asked")


def test_gymnasium_makes_and_checks_it() -> None:
    env = gymnasium.make("agentrl/Search-v0")
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("split", SearchEnv.splits)
@pytest.mark.parametrize("world", ["countries", "random"])
@pytest.mark.parametrize("top_k", [1, 3])
def test_the_expert_answers_every_question_with_one_search_per_hop(
    split: str, world: str, top_k: int
) -> None:
    env = SearchEnv(split=split, world=world, top_k=top_k)
    for seed in range(300):
        reward, turns, _ = play(env, seed)
        assert (reward, turns) == (1.0, env.question.hops + 1), (seed, env.question.text)


def test_consecutive_seeds_ask_different_questions_balanced_over_hops() -> None:
    for split, n in (("test", 600), ("train", 1500), ("validation", 180)):
        env = SearchEnv(split=split)
        asked = []
        for seed in range(n):
            _, info = env.reset(seed=seed)
            assert info["hops"] == env.question.hops == (1, 2, 3)[seed % 3]
            asked.append(env.question.text)
        assert len(set(asked)) == n


def test_hops_can_be_chosen_and_seeds_go_round() -> None:
    env = SearchEnv(split="test", hops=(2,))
    count = len(real_site("test").questions[2])
    assert env.reset(seed=0)[0] == env.reset(seed=count)[0]
    assert {env.reset(seed=seed)[1]["hops"] for seed in range(10)} == {2}
    env = SearchEnv(hops=(1, 3))
    assert [env.reset(seed=seed)[1]["hops"] for seed in range(4)] == [1, 3, 1, 3]


def test_random_worlds_change_every_64_seeds_and_differ_between_splits() -> None:
    env = SearchEnv(world="random")
    worlds = [env.reset(seed=seed)[1]["world"] for seed in range(3 * SEEDS_PER_WORLD)]
    assert [len(set(worlds[i : i + 64])) for i in (0, 64, 128)] == [1, 1, 1]
    assert len(set(worlds)) == 3
    for start in (0, 64, 128):
        assert len({text_of(env.reset(seed=start + i)[0]) for i in range(64)}) == 64
    assert env.reset(seed=64 * RANDOM_WORLDS)[1]["world"] == worlds[0]
    other = {env.reset(seed=seed, options={"split": "test"})[1]["world"] for seed in range(0, 192, 64)}
    assert other.isdisjoint(worlds)


def test_options_choose_the_split_of_one_episode() -> None:
    env = SearchEnv()
    _, info = env.reset(seed=4, options={"split": "test"})
    assert info["split"] == "test"
    assert env.question in real_site("test").questions[2]
    assert env.reset(seed=4)[1]["split"] == "train"


def test_what_a_search_and_an_article_look_like() -> None:
    env = SearchEnv(top_k=2)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(
        call("search", query="What is the capital of Mali?")
    )
    assert text_of(observation).splitlines()[0] == "[Mali] The capital of Mali is Bamako."
    assert len(text_of(observation).splitlines()) == 2
    assert (reward, terminated, truncated, info["tool_errors"]) == (0.0, False, False, [])
    observation, *_ = env.step(call("read", doc="mali"))
    assert text_of(observation) == (
        "Mali\nThe capital of Mali is Bamako.\nThe currency of Mali is West African CFA franc.\n"
        "The language of Mali is French.\nThe region of Mali is Western Africa.\nThe largest neighbour of Mali is Algeria."
    )


@pytest.mark.parametrize("query", ["", "?!", '"', "zzzz"])
def test_a_search_that_finds_nothing_says_so(query: str) -> None:
    env = SearchEnv()
    env.reset(seed=0)
    observation, *_, info = env.step(call("search", query=query))
    assert text_of(observation) == "no results"
    assert info["tool_errors"] == []


def test_an_unknown_article_is_the_policys_error() -> None:
    env = SearchEnv()
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(call("read", doc="Atlantis"))
    assert "no article of that name" in text_of(observation)
    assert (reward, terminated, info["tool_errors"][0]["tool"]) == (0.0, False, "read")


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        ("Tripoli", 1.0),
        ("tripoli.", 1.0),
        ("the Tripoli", 1.0),
        ("Tripoli Algiers", 0.0),
        ("", 0.0),
        ("Algiers", 0.0),
    ],
)
def test_only_the_answer_counts(text: str, reward: float) -> None:
    env = asking("What is the capital of Libya?")
    observation, got, terminated, _, info = env.step(call("answer", text=text))
    assert (got, terminated, info["success"]) == (reward, True, reward == 1.0)
    assert "Tripoli" not in text_of(observation)


def test_several_forms_of_an_answer_are_accepted() -> None:
    for text in ("US dollar", "USD", "us DOLLAR"):
        env = asking("What is the currency of United States?")
        assert env.step(call("answer", text=text))[1] == 1.0


def test_what_is_retrieved_or_said_earns_nothing() -> None:
    env = asking("What is the capital of Libya?")
    for action in (
        call("search", query="capital Libya"),
        call("read", doc="Libya"),
        call("search", query="Tripoli"),
        call("read", doc="Tripoli"),
        assistant("Tripoli"),
        assistant("answer Tripoli"),
        call("answer", txt="Tripoli"),
    ):
        _, reward, terminated, _, _ = env.step(action)
        assert (reward, terminated) == (0.0, False)
    _, reward, _, truncated, info = env.step(assistant("Tripoli"))
    assert (reward, truncated, info["success"]) == (0.0, True, False)


def first_value(env: SearchEnv) -> Message:
    """Search for the question as it stands, answer with the value of the first hit."""
    if not env.shown:
        return call("search", query=env.question.text)
    return call("answer", text=facts_in(env.shown[0])[0].value)


@pytest.mark.parametrize(
    ("policy", "by_hops"),
    [
        (first_value, {1: 1.0, 2: 0.0, 3: 0.0}),
        (lambda env: call("answer", text=""), {1: 0.0, 2: 0.0, 3: 0.0}),
        (lambda env: call("answer", text=env.question.text), {1: 0.0, 2: 0.0, 3: 0.0}),
        (lambda env: call("answer", text=env.question.chain[0].known), {1: 0.0, 2: 0.0, 3: 0.0}),
        (lambda env: assistant(env.question.answer), {1: 0.0, 2: 0.0, 3: 0.0}),
    ],
)
def test_what_policies_without_a_plan_score(policy, by_hops: dict[int, float]) -> None:
    env = SearchEnv(split="test")
    scores: dict[int, list[float]] = {1: [], 2: [], 3: []}
    for seed in range(150):
        scores[seed % 3 + 1].append(play(env, seed, policy)[0])
    assert {hops: sum(rewards) / len(rewards) for hops, rewards in scores.items()} == by_hops


def test_only_the_first_of_many_answers_counts() -> None:
    env = asking("What is the capital of Libya?")
    guesses = [ToolCall.make("answer", text=name) for name in ("Algiers", "Tripoli")]
    _, reward, terminated, _, info = env.step(assistant("", *guesses))
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_neither_observations_nor_infos_show_the_chain_before_it_is_looked_up() -> None:
    env = SearchEnv(split="test", hops=(2, 3))
    for seed in range(100):
        observation, info = env.reset(seed=seed)
        start = env.question.chain[0].known
        # A capital may contain its country's name (Kuwait City): nothing else of the chain is given away.
        secrets = [hop.learned for hop in env.question.chain if not within(hop.learned, start)]
        assert len(secrets) >= env.question.hops - 1
        _, _, _, _, later = env.step(call("search", query="zzzz"))
        for said in (text_of(observation), json.dumps(info), json.dumps(later)):
            assert not any(within(secret, said) for secret in secrets)


def test_an_episode_is_cut_off_after_max_turns() -> None:
    reward, turns, _ = play(SearchEnv(), 0, lambda env: MALI)
    assert (reward, turns) == (0.0, 8)
    assert play(SearchEnv(max_turns=3), 0, lambda env: MALI)[1] == 3


@pytest.mark.parametrize(
    "wrong",
    [{"world": "moon"}, {"hops": ()}, {"hops": (1, 4)}, {"top_k": 0}, {"max_turns": 0}, {"split": "tset"}],
)
def test_wrong_settings_are_one_clear_sentence(wrong: dict) -> None:
    with pytest.raises(UserError):
        SearchEnv(**wrong)


def test_a_wrong_split_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="'test'"):
        SearchEnv(split="tset")


# -- the expert and its habit --------------------------------------------------------------------------


def test_the_expert_reads_what_was_shown_and_goes_on_from_anywhere() -> None:
    env = SearchEnv(split="test", hops=(3,))
    env.reset(seed=1)
    first = env.expert()
    env.step(call("search", query="zzzz"))
    assert env.expert() == first
    env.step(first)
    second = env.expert()
    assert second != first
    env.step(first)
    env.step(call("read", doc="France"))
    assert env.expert() == second
    for _ in range(3):
        _, reward, terminated, *_ = env.step(env.expert())
    assert (reward, terminated) == (1.0, True)


def test_the_expert_can_use_an_article() -> None:
    env = asking("What is the capital of Libya?")
    env.step(call("read", doc="Libya"))
    assert env.expert() == call("answer", text="Tripoli")


def test_the_expert_says_what_it_saw_even_if_the_engine_is_wrong() -> None:
    env = asking("What is the capital of Libya?")
    shown = ["[Libya] The capital of Libya is Paris."]
    assert progress(env.question, shown) == ["Paris"]
    assert progress(env.question, ["[Libya] The language of Libya is Arabic.", "no results"]) == []


def test_facts_are_read_from_every_sentence_of_the_world() -> None:
    for fact in countries().facts:
        assert facts_in(f"[{fact.subject}] {fact.sentence}") == [fact]


def test_the_hasty_expert_answers_too_early_at_every_hop_but_the_last() -> None:
    env, rng, p = SearchEnv(world="random"), random.Random(0), 0.5
    ends: dict[tuple[int, int], int] = {}
    for seed in range(1500):
        reward, turns, _ = play(env, seed, lambda env: env.hasty_expert(rng, p))
        hops = env.question.hops
        assert reward == (turns == hops + 1)
        ends[hops, turns] = ends.get((hops, turns), 0) + 1
    assert ends[1, 2] == 500
    # Of 500: two hops end early with probability 1/2; three hops with 1/2, then 1/4.
    assert ends[2, 2] == pytest.approx(250, abs=45)
    assert ends[3, 2] == pytest.approx(250, abs=45)
    assert ends[3, 3] == pytest.approx(125, abs=40)


def test_without_haste_it_is_the_expert() -> None:
    env, rng = SearchEnv(), random.Random(0)
    for seed in range(30):
        assert play(env, seed, lambda env: env.hasty_expert(rng, 0.0))[0] == 1.0


# -- determinism, copies, cost ------------------------------------------------------------------------


FINGERPRINT = """
from agentrl.core.env import digest
from agentrl.core.messages import text_of
from agentrl.envs.search.env import SearchEnv
out = []
for world in ("countries", "random"):
    env = SearchEnv(world=world, split="test")
    for seed in range(0, 400, 7):
        out.append(text_of(env.reset(seed=seed)[0]))
        for _ in range(env.question.hops + 1):
            out += [text_of(env.step(env.expert())[0]), env.state_key()]
print(digest("|".join(out)))
"""


def test_another_process_under_another_hash_seed_sees_the_same() -> None:
    prints = {
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "4711")
    }
    assert len(prints) == 1


def test_no_global_random_state_is_touched() -> None:
    random.seed(1)
    before = random.getstate()
    random_site.cache_clear()
    play(SearchEnv(world="random"), 12_345)
    assert random.getstate() == before


def test_a_snapshot_has_the_same_future_in_the_same_and_in_another_environment() -> None:
    env = SearchEnv(split="test", hops=(3,), world="random")
    env.reset(seed=5)
    env.step(env.expert())
    point = env.snapshot()
    key, action = env.state_key(), env.expert()
    future = text_of(env.step(action)[0])
    env.reset(seed=900)
    other = SearchEnv(split="test", hops=(3,), world="random")
    other.reset(seed=77)
    for copy in (env, other):
        copy.restore(point)
        assert (copy.state_key(), copy.expert()) == (key, action)
        assert text_of(copy.step(action)[0]) == future
        while not (step := copy.step(copy.expert()))[2]:
            assert step[1] == 0.0
        assert step[1] == 1.0


def test_equal_state_keys_are_equal_knowledge() -> None:
    env = SearchEnv(hops=(2,))
    actions = [call("search", query="capital Mali"), call("search", query="currency Peru")]
    keys = []
    for order in (actions, actions[::-1], [*actions, actions[0]]):
        env.reset(seed=3)
        start = env.state_key()
        for action in order:
            env.step(action)
        keys.append(env.state_key())
    assert len(set(keys)) == 1
    assert keys[0] != start
    env.reset(seed=4)
    assert env.state_key() != start


def test_threads_share_the_sites() -> None:
    def returns(offset: int) -> list[float]:
        env = SearchEnv(world="random", split="validation")
        return [play(env, seed)[0] for seed in range(offset, offset + 640, 40)]

    random_site.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert all(reward == 1.0 for rewards in pool.map(returns, range(8)) for reward in rewards)


def test_environments_and_turns_are_cheap() -> None:
    play(SearchEnv(), 0)
    start = time.perf_counter()
    envs = [SearchEnv() for _ in range(300)]
    assert (time.perf_counter() - start) / 300 < 0.005
    start = time.perf_counter()
    for env in envs:
        play(env, 4)
    assert (time.perf_counter() - start) / 300 < 0.02


# -- vocabulary ----------------------------------------------------------------------------------------


def test_the_vocabulary_covers_every_word_and_name() -> None:
    vocabulary = SearchEnv.vocabulary()
    assert len(vocabulary.words) + len(vocabulary.names) < 1200
    words = set(vocabulary.words)
    assert words.isdisjoint(fold(name) for name in vocabulary.names)
    names = re.compile(
        "|".join(rf"(?<!\w){re.escape(n)}(?!\w)" for n in sorted(vocabulary.names, key=len, reverse=True))
    )
    for world in ("countries", "random"):
        env = SearchEnv(world=world, split="test")
        for seed in range(150):
            _, _, shown = play(env, seed)
            said = json.loads(env.expert().tool_calls[0].arguments)
            for text in (*shown, *said, *said.values()):
                rest = names.sub(" ", text).casefold()
                assert set(re.findall(r"\w+|[^\w\s]", rest)) <= words, text
