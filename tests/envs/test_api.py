import itertools
import json
import random

import jsonschema
import pytest
from playing import play

import agentrl
from agentrl.check import check_env
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import call, text_of
from agentrl.core.sampling import sample_arguments
from agentrl.envs.api.compare import Comparison
from agentrl.envs.api.office.service import OFFICE
from agentrl.envs.api.openapi import Request, load, operations, tools_of_document
from agentrl.envs.api.retail.service import RETAIL
from agentrl.envs.api.tracker.service import TRACKER
from agentrl.envs.api.wiki.service import WIKI

NAMES = ["IssueTracker-v0", "Wiki-v0", "Office-v0", "Retail-v0"]
SERVICES = [TRACKER, WIKI, OFFICE, RETAIL]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_rules_hold(name):
    report = check_env(f"agentrl/{name}")
    assert report.ok, [check for check in report.checks if not check.ok]


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_the_document_is_valid_openapi(service):
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(service.document)
    assert set(service.handlers) >= set(service.operations)
    assert set(service.extra) <= set(service.operations)


@pytest.mark.parametrize("name", NAMES)
def test_the_expert_solves_every_template_of_every_split(name):
    env = agentrl.make(name)
    for split in env.splits:
        for seed in range(2 * len(env.templates)):
            total, info = play(env, seed, split)
            assert (total, info["success"], info["progress"]) == (1.0, True, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_splits_share_no_task(name):
    env = agentrl.make(name)
    texts = {
        split: {text_of(env.reset(seed=seed, options={"split": split})[0]) for seed in range(40)}
        for split in env.splits
    }
    assert all(len(found) > 35 for found in texts.values())
    for one, other in itertools.combinations(env.splits, 2):
        assert not texts[one] & texts[other]


@pytest.mark.parametrize(("name", "service"), list(zip(NAMES, SERVICES, strict=True)))
def test_every_answer_fits_the_schema_of_its_status(name, service):
    """Random valid calls, with the keys of the world in them, so that many succeed."""
    env = agentrl.make(name, distractors=len(service.extra))
    rng, chance = __import__("numpy").random.default_rng(0), random.Random(0)
    seen = set()
    for seed in range(6):
        env.reset(seed=seed)
        state = env.world
        keys = [key for rows in state.tables.values() for key in rows]
        for one in list(service.operations.values()) * 4:
            given = sample_arguments(one.parameters, rng)
            for key, value in given.items():
                if (
                    isinstance(value, str)
                    and "enum" not in one.parameters["properties"][key]
                    and chance.random() < 0.8
                ):
                    table = [k for k in keys if chance.random() < 0.2] or keys
                    given[key] = chance.choice(table)
            state, status, body = service.call(state, one.id, given)
            assert str(status) in one.responses, (one.id, status, body)
            jsonschema.validate(body, one.responses[str(status)])
            seen.add((one.id, status < 400))
    assert sum(fine for _, fine in seen) > len(service.operations) / 3


def test_requests_by_path_as_a_server_gets_them():
    env = agentrl.make("IssueTracker-v0")
    env.reset(seed=0)
    key = next(iter(env.world.tables["issues"]))
    state, status, body = TRACKER.handle(env.world, Request("GET", f"/issues/{key}", {}))
    assert (state is env.world, status, body["key"]) == (True, 200, key)
    assert TRACKER.handle(state, Request("GET", "/issues", {"page": "2", "per_page": "5"}))[2]["page"] == 2
    assert TRACKER.handle(state, Request("GET", "/issues/none", {}))[1] == 404
    assert TRACKER.handle(state, Request("GET", "/nothing", {}))[1] == 404
    assert TRACKER.handle(state, Request("PUT", "/issues", {}))[1] == 405
    assert TRACKER.handle(state, Request("PATCH", f"/issues/{key}", {}, {"ghost": 1}))[1] == 422


def test_a_closed_issue_must_be_reopened_first():
    env = agentrl.make("IssueTracker-v0")
    env.reset(seed=0)
    key = next(iter(env.world.tables["issues"]))
    state, _, _ = TRACKER.call(env.world, "updateIssue", {"key": key, "state": "open"})
    state, _, _ = TRACKER.call(state, "updateIssue", {"key": key, "state": "closed"})
    assert TRACKER.call(state, "updateIssue", {"key": key, "title": "x"})[1:] == (
        409,
        {"code": "closed", "message": f"{key} is closed: reopen it first (state open)"},
    )


def test_states_are_equal_by_value():
    env = agentrl.make("Retail-v0")
    env.reset(seed=0)
    base = env.world
    key, row = next(iter(base.tables["orders"].items()))
    compare = Comparison(RETAIL, base)
    same = base.put("orders", key, {**row, "refund": 0.0, "updated_at": "never", "lines": list(row["lines"])})
    assert compare.difference(base, same) == 0
    assert compare.difference(base, base.put("orders", key, {**row, "refund": 1})) == 2


def test_generated_keys_mean_nothing_but_what_they_name_does():
    env = agentrl.make("IssueTracker-v0")
    env.reset(seed=0)
    base = env.world
    issues, login = list(base.tables["issues"]), next(iter(base.tables["users"]))

    def said(*bodies):
        state = base
        for body in bodies:
            state = TRACKER.call(state, "createComment", {"issue": issues[0], "author": login, "body": body})[
                0
            ]
        return state

    compare = Comparison(TRACKER, base)
    assert compare.difference(said("a", "b"), said("b", "a")) == 0
    assert compare.difference(said("a", "b"), said("a")) == 1


def test_a_side_effect_fails_the_task_and_the_expert_mends_it():
    for seed in range(8):
        env = agentrl.make("IssueTracker-v0")
        env.reset(seed=seed)
        issue, login = next(iter(env.world.tables["issues"])), next(iter(env.world.tables["users"]))
        stray = call("createComment", issue=issue, author=login, body="hello")
        while (action := env.expert()).tool_calls[0].name != "done":
            env.step(action)
        spoilt = env.snapshot()
        env.step(stray)
        assert env.step(call("done", outcome="completed"))[4]["success"] is False
        env.restore(spoilt)
        env.step(stray)
        while not (result := env.step(env.expert()))[2]:
            pass
        assert result[4]["success"] is True


def test_a_refusal_needs_the_code_the_reads_and_no_change():
    env = agentrl.make("Retail-v0", templates="cancel-refused")
    for seed in range(10):
        env.reset(seed=seed)
        code = env.asked.draft.outcome
        assert code in ("not_pending", "bad_reason", "wrong_customer")
        assert env.step(call("done", outcome=code))[4]["success"] is False  # nothing was looked at
    assert play(env, 0)[1]["success"]
    env.reset(seed=1)
    while (action := env.expert()).tool_calls[0].name != "done":
        env.step(action)
    assert env.step(call("done", outcome="completed"))[4]["success"] is False


def test_a_look_at_another_customer_spoils_a_retail_task():
    env = agentrl.make("Retail-v0", templates="return")
    env.reset(seed=3)
    mine = env.asked.draft.required[0][1]["id"]
    other = next(key for key in env.world.tables["customers"] if key != mine)
    env.step(call("getCustomer", id=other))
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(env.expert())
    assert info["success"] is False


def test_the_progress_reward_telescopes():
    env = agentrl.make("Wiki-v0", progress_reward=0.5)
    for seed in range(7):
        total, _info = play(env, seed)
        assert total == pytest.approx(1.5)


@pytest.mark.parametrize("name", NAMES)
def test_distractors_are_further_tools_that_work(name):
    few, many = agentrl.make(name), agentrl.make(name, distractors=3)
    assert len(many.tools) == len(few.tools) + 3
    assert many.tools[-1].name == "done"


@pytest.mark.parametrize(
    "bad", [{"distractors": -1}, {"distractors": 99}, {"templates": "ghost"}, {"progress_reward": 2}]
)
def test_bad_arguments(bad):
    with pytest.raises(UserError):
        agentrl.make("Wiki-v0", **bad)


FOREIGN = {
    "openapi": "3.0.3",
    "info": {"title": "t", "version": "1"},
    "paths": {
        "/things/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "put": {
                "operationId": "put thing!",
                "summary": "Put.",
                "parameters": [{"name": "X-Trace", "in": "header", "schema": {"type": "string"}}],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}},
                },
                "responses": {"204": {"description": "done"}},
            },
        },
        "/things": {"get": {"responses": {"200": {"description": "all"}}}},
    },
    "components": {
        "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}},
        "schemas": {
            "Thing": {
                "allOf": [
                    {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
                    {
                        "type": "object",
                        "properties": {
                            "made": {"type": "string", "readOnly": True},
                            "note": {"type": "string", "nullable": True},
                            "inside": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                        },
                    },
                ]
            }
        },
    },
}


def test_any_document_becomes_tools(tmp_path):
    path = tmp_path / "things.json"
    path.write_text(json.dumps(FOREIGN))
    sent = []
    put, listing = tools_of_document(path, lambda one, request: sent.append(request) or "ok")
    assert (put.name, listing.name) == ("put_thing", "get_things")
    schema = put.parameters
    assert list(schema["properties"]) == ["id", "X-Trace", "body_id", "note", "inside"]
    assert schema["required"] == ["id", "body_id"]
    assert schema["properties"]["note"] == {"type": ["string", "null"]}
    arguments = {"id": 7, "body_id": "a", "note": None, "inside": [{"id": "b"}], "X-Trace": "t"}
    assert put.call(json.dumps(arguments)) == "ok"
    body = {"id": "a", "note": None, "inside": [{"id": "b"}]}
    assert sent == [Request("PUT", "/things/7", {}, body, {"X-Trace": "t"})]
    with pytest.raises(ToolError):
        put.call(json.dumps({"id": 7, "body_id": "a", "inside": [{"id": 3}]}))


def test_bad_documents(tmp_path):
    for bad in ({"swagger": "2.0"}, tmp_path / "none.json"):
        with pytest.raises(UserError):
            load(bad)
    broken = {"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"$ref": "#/nowhere"}]}}}}
    with pytest.raises(UserError, match="leads nowhere"):
        operations(broken)
