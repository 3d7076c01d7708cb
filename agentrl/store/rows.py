"""Between rollout trees and database rows, both ways and exactly."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agentrl.core.failures import Failure
from agentrl.core.messages import Message, from_dicts, to_dicts
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.store.blobs import pack_floats, pack_ints, unpack
from agentrl.store.database import dumps

TURN_COLUMNS = (
    "tree, node, parent, observation, action, final, context_ids, completion_ids, logprobs, advantage, weight_version, "
    "handoff, finish_reason, reward, reward_parts, terminated, truncated, state_key, success, tool_errors, info, "
    "generate_seconds, step_seconds, cached_tokens"
)
INSERT_TURN = f"INSERT INTO turns ({TURN_COLUMNS}) VALUES ({', '.join('?' * 24)})"


def insert_tree(
    connection: sqlite3.Connection,
    tree: RolloutTree,
    *,
    phase: str,
    step: int,
    position: int,
    advantages: Sequence[float] | None = None,
) -> None:
    """Write one tree inside the caller's transaction. `advantages`: one number per turn."""
    task = tree.task
    cursor = connection.execute(
        "INSERT INTO trees (phase, step, position, env, seed, split, task, requested, failures) VALUES (?,?,?,?,?,?,?,?,?)",
        (
            phase,
            step,
            position,
            task.env,
            task.seed,
            task.split,
            dumps({"kwargs": dict(task.kwargs), "options": dict(task.options)}),
            tree.requested,
            dumps([asdict(failure) for failure in tree.failures]),
        ),
    )
    key = cursor.lastrowid
    connection.executemany(
        INSERT_TURN,
        (turn_row(key, turn, None if advantages is None else float(advantages[turn.id])) for turn in tree),
    )


def turn_row(tree: int | None, turn: Turn, advantage: float | None) -> tuple[Any, ...]:
    return (
        tree,
        turn.id,
        turn.parent,
        dumps(to_dicts(turn.observation)),
        dumps(turn.action.to_dict()),
        dumps(to_dicts(turn.final)),
        pack_ints(turn.context_ids),
        pack_ints(turn.completion_ids),
        pack_floats(turn.logprobs),
        advantage,
        turn.weight_version,
        turn.handoff,
        turn.finish_reason,
        turn.reward,
        dumps(dict(turn.reward_parts)),
        turn.terminated,
        turn.truncated,
        turn.state_key,
        turn.success,
        dumps(list(turn.tool_errors)),
        dumps(dict(turn.info)),
        turn.seconds[0],
        turn.seconds[1],
        turn.cached_tokens,
    )


def read_turn(row: Sequence[Any]) -> Turn:
    (
        _,
        node,
        parent,
        observation,
        action,
        final,
        context,
        completion,
        logprobs,
        _,
        version,
        handoff,
        finish,
    ) = row[:13]
    reward, parts, terminated, truncated, state_key, success, tool_errors, info, generate, step, cached = row[
        13:
    ]
    return Turn(
        id=node,
        parent=parent,
        observation=from_dicts(json.loads(observation)),
        action=Message.from_dict(json.loads(action)),
        context_ids=tuple(unpack(context)),
        completion_ids=tuple(unpack(completion)),
        logprobs=tuple(unpack(logprobs)),
        weight_version=version,
        handoff=handoff,
        finish_reason=finish,
        reward=reward,
        reward_parts=json.loads(parts),
        terminated=bool(terminated),
        truncated=bool(truncated),
        final=from_dicts(json.loads(final)),
        state_key=state_key,
        success=None if success is None else bool(success),
        tool_errors=tuple(json.loads(tool_errors)),
        info=json.loads(info),
        seconds=(generate, step),
        cached_tokens=cached,
    )


def read_tree(connection: sqlite3.Connection, row: Mapping[str, Any]) -> RolloutTree:
    task = json.loads(row["task"])
    tree = RolloutTree(
        Task(row["env"], row["seed"], row["split"], task["kwargs"], task["options"]),
        requested=row["requested"],
        failures=[Failure(**item) for item in json.loads(row["failures"])],
    )
    query = f"SELECT {TURN_COLUMNS} FROM turns WHERE tree = ? ORDER BY node"
    for turn in connection.execute(query, (row["id"],)):
        tree.add(read_turn(tuple(turn)))
    return tree
