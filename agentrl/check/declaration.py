"""Rules on what an environment says of itself."""

from __future__ import annotations

import inspect
import itertools
import json
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check

from agentrl.check.playing import Broken, require
from agentrl.check.subject import Subject
from agentrl.core.failures import InfrastructureFailure, ToolError, UserError
from agentrl.core.messages import ToolCall, assistant, to_dicts
from agentrl.core.sampling import sample_arguments
from agentrl.core.tool import Tool
from agentrl.core.validate import fits

SAMPLES = 20  # calls of each tool


def declares_itself(subject: Subject) -> str:
    """A docstring, tools or an answer to plain text, descriptions, spaces."""
    with subject.env() as env:
        require(bool(inspect.getdoc(type(env))), "the class has no docstring")
        silent = not env.tools and not env.answers_text
        require(not silent, "no tools, and plain text is not answered: a policy can do nothing")
        for tool in env.tools:
            require(bool(tool.description), f"tool {tool.name} has no description")
        for name in ("observation_space", "action_space"):
            require(isinstance(getattr(env, name, None), gymnasium.Space), f"{name} is not a Gymnasium space")
        require(bool(env.splits), "no splits: name at least one")
        return f"{len(env.tools)} tools, splits {', '.join(env.splits)}, fork {env.fork}, safety {env.safety}"


def gymnasiums_own_checker_passes(subject: Subject) -> str:
    with subject.env() as env, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            gymnasium_check(env, skip_render_check=True)
        except AssertionError as error:
            raise Broken(str(error)) from error
    first = str(said[0].message).partition("\n")[0] if said else "nothing"
    return f"gymnasium.utils.env_checker; it warns of {first}"[:300]


def schemas_accept_their_calls(subject: Subject) -> str:
    """Each tool's schema is JSON, hangs together, and what is sampled from it fits it and is decoded."""
    rng = np.random.default_rng(0)
    with subject.env() as env:
        for tool in env.tools:
            well_formed(tool)
            for _ in range(SAMPLES):
                arguments = sample_arguments(tool.parameters, rng)
                require(fits(tool.parameters, arguments), f"tool {tool.name}: {arguments} does not fit")
                text = json.dumps(arguments)
                try:
                    tool.decode(text)
                except ToolError as error:
                    raise Broken(f"tool {tool.name}: {text:.80} fits its schema, but: {error}") from error
        return f"{SAMPLES} calls of each of {len(env.tools)} tools"


def well_formed(tool: Tool) -> None:
    """An object's schema as JSON data, whose required names and references are there."""
    try:
        schema = json.loads(json.dumps(tool.parameters, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise Broken(f"tool {tool.name}: its schema is no JSON: {error}") from error
    require(schema.get("type") == "object", f"tool {tool.name}: its schema is not that of an object")
    for part in dicts_in(schema):
        properties, required = part.get("properties", {}), part.get("required", [])
        missing = [name for name in required if name not in properties] if "properties" in part else []
        require(not missing, f"tool {tool.name}: {missing} are required, but not described")
        if isinstance(ref := part.get("$ref"), str):
            known = ref.rpartition("/")[2] in schema.get("$defs", {})
            require(known, f"tool {tool.name}: {ref} leads nowhere")


def dicts_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from dicts_in(item)


def sampled_calls_are_played(subject: Subject) -> str:
    """Whatever fits a schema is played or answered with a tool error of the environment's own; nothing breaks."""
    rng = np.random.default_rng(1)
    played = 0
    with subject.env() as env:
        rounds = itertools.product(range(SAMPLES), env.tools)
        over = True
        for number, tool in subject.paced(rounds, least=2 * len(env.tools)):
            if over:
                env.reset(seed=number)
            call = ToolCall(tool.name, json.dumps(sample_arguments(tool.parameters, rng)))
            try:
                _, _, terminated, truncated, info = env.step(assistant("", call))
            except InfrastructureFailure as error:
                raise Broken(f"{tool.name}({call.arguments:.80}) breaks the environment: {error}") from error
            kinds = {error["kind"] for error in info["tool_errors"]}
            refused = kinds & {"malformed_json", "unknown_tool", "no_tool_call"}
            require(not refused, f"{tool.name}({call.arguments:.80}) fits its schema, but is {refused}")
            over = terminated or truncated
            played += 1
    return f"{played} calls"


def splits_are_known(subject: Subject) -> str:
    """Every declared split begins; an unknown one is refused with the name that was perhaps meant."""
    with subject.env() as env:
        shown: dict[str, set[str]] = {split: set() for split in env.splits}
        for seed, split in subject.paced(itertools.product(range(10), env.splits), least=2 * len(env.splits)):
            observation, info = env.reset(seed=seed, options={"split": split})
            got = info.get("split", split)
            require(got == split, f"split {split!r} was asked for, {got!r} was begun")
            shown[split].add(json.dumps(to_dicts(observation)))
        meant = env.splits[0]
        for wrong in ("no such split", meant[:-1] + "?"):
            try:
                env.reset(seed=0, options={"split": wrong})
            except UserError as error:
                near = wrong == "no such split" or meant in str(error)
                require(near, f"split {wrong!r} is refused without naming {meant!r}: {error}")
            else:
                raise Broken(f"the unknown split {wrong!r} was accepted")
    texts = [text for split in shown.values() for text in split]
    again = len(texts) - len(set(texts))
    return (
        f"{', '.join(shown)}; {again} of {len(texts)} first texts are in more than one (a task may hide more)"
    )
