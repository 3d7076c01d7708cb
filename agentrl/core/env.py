"""`ToolEnv`: a Gymnasium environment whose actions are assistant messages and whose moves are tool calls.

An author writes `task()`, some `@tool` methods and a reward:

    class Guess(ToolEnv):
        '''Guess a number between 1 and 100.'''

        def task(self):
            self.secret = int(self.np_random.integers(1, 101))
            return "Guess my number between 1 and 100."

        @tool
        def guess(self, number: int) -> str:
            '''Guess. Args: number: your guess.'''
            if number == self.secret:
                self.finish(1.0, success=True)
                return "Right!"
            return "higher" if number < self.secret else "lower"

Rules that every environment keeps: all calls of a message are executed in order of declaration and each is
answered; a wrong call is answered with a tool error and the episode goes on; a broken environment raises
`InfrastructureFailure`; nothing but `reset(seed=...)` decides what an episode is.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Coroutine, Iterable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import gymnasium
import numpy as np
from gymnasium.utils import seeding

from agentrl.core.failures import ForkMismatch, InfrastructureFailure, ToolError, UnknownName, UserError
from agentrl.core.fork import ForkKind, Snapshot, copy_in, copy_out
from agentrl.core.messages import (
    Action,
    Message,
    Messages,
    Observation,
    ToolCall,
    as_action,
    system,
    text_of,
    user,
)
from agentrl.core.portal import in_thread, run_sync
from agentrl.core.spaces import ActionSpace, MessagesSpace
from agentrl.core.tool import Tool, as_text, check_names, tools_of

Safety: TypeAlias = Literal["inline", "thread", "process", "async"]
T = TypeVar("T")


class ToolEnv(gymnasium.Env[Observation, Action]):
    """Base class of text environments with tools.

    Class attributes that an author may set:
        instructions: a system message shown first; empty for none.
        max_turns: turns after which the episode is truncated; None for no limit.
        splits: names that `split` may have. Tasks of different splits share nothing worth remembering.
        fork: how `snapshot`/`restore` work. `copy` deep-copies the attributes except those in `shared`;
            `replay` resets with the same seed and repeats the path; `native` is the subclass's own.
        safety: where `reset` and `step` may run. `inline`: pure computation, well under a millisecond;
            `thread`: different instances may run in different threads; `process`: one process per
            instance; `async`: some tools are coroutines.
        shared: names of attributes that copies share because they never change (an index, a corpus).
        max_instances: how many may be open at once in one collection (a licence, a device); None for no limit.
        trivial_success: the share of tasks that a policy which knows nothing solves at most (`agentrl env audit`).
        expert_success: the share of tasks that `expert` solves at least; below 1 where luck decides.

    Set by the base class: `np_random`, `options`, `split`, `task_seed` (the seed of this episode: the one
    given to `reset`, else one drawn from `np_random`), `turn` (turns played so far).
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    instructions: str = ""
    max_turns: int | None = None
    splits: ClassVar[tuple[str, ...]] = ("train", "validation", "test")
    fork: ClassVar[ForkKind] = "copy"
    safety: ClassVar[Safety] = "thread"
    shared: ClassVar[frozenset[str]] = frozenset()
    max_instances: ClassVar[int | None] = None
    _rng: np.random.Generator | None = None
    expert_success: float = 1.0
    trivial_success: float = 0.05

    def __init__(self, *, split: str = "train", max_turns: int | None = None) -> None:
        self.tools = tools_of(self)
        self.observation_space = MessagesSpace()
        if max_turns is not None:
            if max_turns < 1:
                raise UserError(f"max_turns must be at least 1, got {max_turns}")
            self.max_turns = max_turns
        self.default_split = self._check_split(split)
        self.split = self.default_split
        self.options: Mapping[str, Any] = {}
        self.task_seed = 0
        self.turn = 0
        self.closed = False
        self._over = True
        self._cut = False
        self._success: bool | None = None
        self._parts: dict[str, float] = {}
        self._errors: list[dict[str, str]] = []
        self._recoveries: list[dict[str, str]] = []
        self._last: Observation = ()
        self._path: list[tuple[Message, str]] = []
        self._began: tuple[int, dict[str, Any], str] | None = None

    # -- what an author writes ---------------------------------------------------------------------

    def task(self) -> str | Messages:
        """Draw the task of this episode (from `np_random` or `task_seed`) and say what the policy is asked."""
        raise NotImplementedError(f"{type(self).__name__} must define task()")

    def on_text(self, text: str) -> str:
        """Answer a message without a tool call. Environments that act on plain text override this."""
        names = ", ".join(tool.name for tool in self.tools)
        raise ToolError(f"call one of the tools: {names}", "no_tool_call")

    @property
    def answers_text(self) -> bool:
        """Whether a message without a tool call can be an action here."""
        return type(self).on_text is not ToolEnv.on_text

    def expert(self) -> Action | None:
        """A good next action if the environment knows one (cold start, tests); None if it does not."""
        return None

    def state_key(self) -> str | None:
        """Equal keys = the same decision situation within a task (GiGPO's anchor states, arXiv:2505.10978)."""
        return digest(text_of(self._last))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the policy may call: the methods marked with `@tool`, in order of declaration. May be extended:
        `self.tools = (*self.tools, Tool.of(calculate))`; the action space follows.

        Raises:
            UserError: two tools of one name, or a coroutine where `safety` is not `async`.
        """
        return self._tools

    @tools.setter
    def tools(self, tools: Iterable[Tool]) -> None:
        chosen, owner = tuple(tools), type(self).__name__
        check_names(chosen, owner)
        waiting = ", ".join(tool.name for tool in chosen if tool.is_async)
        if waiting and self.safety != "async":
            raise UserError(f"{owner} has async tools ({waiting}): declare safety = 'async'")
        self._tools, self._by_name = chosen, {tool.name: tool for tool in chosen}
        self.action_space = ActionSpace(chosen)

    @property
    def _np_random(self) -> np.random.Generator:
        """Gymnasium's generator of this episode, made where it is first asked for: most tasks are drawn from the
        seed itself, and making one costs more than a step of a game."""
        if self._rng is None:
            self._rng, self._np_random_seed = seeding.np_random(self._np_random_seed)
        return self._rng

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._rng = generator

    # -- what an author calls ----------------------------------------------------------------------

    def add_reward(self, value: float, name: str = "reward") -> None:
        """Give `value` for this turn under `name`; shown in `info["reward_parts"]`.

        Raises:
            InfrastructureFailure: the value is not finite.
        """
        if not math.isfinite(value):
            raise InfrastructureFailure(
                "reward", type(self).__name__, f"a reward is finite, {name!r} is {value}"
            )
        self._parts[name] = self._parts.get(name, 0.0) + float(value)

    def finish(self, reward: float = 0.0, *, success: bool | None = None, name: str = "outcome") -> None:
        """End the episode after this turn."""
        self.add_reward(reward, name)
        self._over, self._cut = True, False
        self._success = reward > 0 if success is None else bool(success)

    def truncate(self) -> None:
        """End the episode after this turn without an outcome: a limit of the environment's own was reached."""
        self._over, self._cut = True, True

    # -- Gymnasium's face --------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode. `options["split"]` chooses the split.

        Raises:
            UserError: an unknown split.
            InfrastructureFailure: the environment broke.
        """
        return (
            run_sync(self._begin(seed, options))
            if self.safety == "async"
            else drive(self._begin(seed, options))
        )

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play one turn: execute every tool call of `action` in order, answer each.

        Returns:
            (observation, reward, terminated, truncated, info). `info` is JSON-serialisable: `turn`, `reward_parts`,
            `tool_errors` (a list of `{"tool", "kind", "message"}`), `tool_recoveries` (calls whose arguments had to
            be repaired: `{"tool", "kind"}`), and `success` once the episode is over.
        """
        return run_sync(self._play(action)) if self.safety == "async" else drive(self._play(action))

    async def areset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """`reset` for an event loop: in this loop where `safety` is `async` or `inline`, else in a thread."""
        if self.safety == "async":
            return await self._begin(seed, options)
        if self.safety == "inline":
            return self.reset(seed=seed, options=options)
        return await asyncio.to_thread(self.reset, seed=seed, options=options)

    async def astep(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """`step` for an event loop; see `areset`."""
        if self.safety == "async":
            return await self._play(action)
        if self.safety == "inline":
            return self.step(action)
        return await asyncio.to_thread(self.step, action)

    def close(self) -> None:
        """Free what the environment holds; idempotent, also called after a failure."""
        self.closed = True

    async def aclose(self) -> None:
        """`close` for an event loop; a thread only where an environment has something of its own to close."""
        if self.safety == "inline" or type(self).close is ToolEnv.close:
            self.close()
        else:
            await in_thread(self.close)

    # -- forking -----------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """This moment, to branch from. Cost: one copy of the state (`copy`) or of the path (`replay`)."""
        owner = type(self).__qualname__
        if self.fork == "copy":
            return Snapshot("copy", owner, copy_out(self, self.shared))
        if self.fork == "replay" and self._began is not None:
            return Snapshot("replay", owner, (self._began, tuple(self._path)))
        raise UserError(f"{owner} cannot be forked here (fork={self.fork!r})")

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from `snapshot`, which may have been taken in another instance of the same class.

        Raises:
            ForkMismatch: a replayed path showed something else than the first time.
        """
        self._check_snapshot(snapshot)
        if snapshot.kind == "copy":
            copy_in(self, snapshot.payload, self.shared)
            return
        (seed, options, first), path = snapshot.payload
        observation, _ = self.reset(seed=seed, options=dict(options))
        self._compare(0, first, observation)
        for index, (action, expected) in enumerate(path, start=1):
            observation, *_ = self.step(action)
            self._compare(index, expected, observation)

    async def asnapshot(self) -> Snapshot:
        """`snapshot` for an event loop: where `areset` runs. What has to wait for it (a sandbox) overrides this."""
        if self.safety in ("async", "inline"):
            return self.snapshot()
        return await asyncio.to_thread(self.snapshot)

    async def arestore(self, snapshot: Snapshot) -> None:
        """`restore` for an event loop, likewise; a replay of coroutines is awaited here."""
        if self.safety == "async" and self.fork == "replay":
            self._check_snapshot(snapshot)
            (seed, options, first), path = snapshot.payload
            observation, _ = await self.areset(seed=seed, options=dict(options))
            self._compare(0, first, observation)
            for index, (action, expected) in enumerate(path, start=1):
                observation, *_ = await self.astep(action)
                self._compare(index, expected, observation)
        elif self.safety in ("async", "inline"):
            self.restore(snapshot)
        else:
            await asyncio.to_thread(self.restore, snapshot)

    def _check_snapshot(self, snapshot: Snapshot) -> None:
        owner = type(self).__qualname__
        if snapshot.owner != owner or snapshot.kind != self.fork:
            raise UserError(
                f"a {snapshot.owner} snapshot ({snapshot.kind}) does not fit {owner} ({self.fork})"
            )

    def _compare(self, index: int, expected: str, observation: Observation) -> None:
        got = digest(text_of(observation))
        if got != expected:
            raise ForkMismatch(type(self).__name__, index, expected, f"{got} ({text_of(observation)!r:.80})")

    # -- the machinery -----------------------------------------------------------------------------

    async def _begin(
        self, seed: int | None, options: Mapping[str, Any] | None
    ) -> tuple[Observation, dict[str, Any]]:
        if self.closed:
            raise InfrastructureFailure("reset", type(self).__name__, "the environment is closed")
        # An unseeded episode is the episode of a drawn seed, so that it can be replayed too.
        self.task_seed = int(self.np_random.integers(2**31)) if seed is None else int(seed)
        self._rng, self._np_random_seed = None, self.task_seed
        self.options = dict(options or {})
        self.split = self._check_split(self.options.get("split", self.default_split))
        self.turn, self._over, self._cut, self._success = 0, False, False, None
        self._parts, self._errors, self._recoveries, self._path = {}, [], [], []
        asked = self.task()
        if isinstance(asked, Coroutine):
            asked = await asked
        first = (user(asked),) if isinstance(asked, str) else tuple(asked)
        self._last = (system(self.instructions), *first) if self.instructions else first
        if self.fork == "replay":
            self._began = (self.task_seed, dict(self.options), digest(text_of(self._last)))
        return self._last, {"turn": 0, "split": self.split, "task_seed": self.task_seed}

    async def _play(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._over:
            raise gymnasium.error.ResetNeeded(
                f"{type(self).__name__}: reset() before step(): no episode is running"
            )
        message = as_action(action)
        self._parts, self._errors, self._recoveries = {}, [], []
        if message.tool_calls:
            answers = [await self._answer(index, call) for index, call in enumerate(message.tool_calls)]
        else:
            answers = [user(await self._guard("", self.on_text, message.content))]
        self.turn += 1
        terminated = self._over and not self._cut
        late = self.max_turns is not None and self.turn >= self.max_turns
        truncated = self._cut or (late and not terminated)
        self._over = terminated or truncated
        self._last = tuple(answers)
        if self.fork == "replay":
            self._path.append((message, digest(text_of(self._last))))
        info: dict[str, Any] = {
            "turn": self.turn,
            "reward_parts": dict(self._parts),
            "tool_errors": [dict(error) for error in self._errors],
            "tool_recoveries": [dict(recovery) for recovery in self._recoveries],
        }
        if self._over:
            info["success"] = bool(self._success)
        return self._last, float(sum(self._parts.values())), terminated, truncated, info

    async def _answer(self, index: int, call: ToolCall) -> Message:
        text = await self._guard(call.name, self._execute, call)
        return Message("tool", text, tool_call_id=call.id or f"call_{self.turn}_{index}", name=call.name)

    async def _execute(self, call: ToolCall) -> Any:
        if self._over:
            raise ToolError("not executed: the episode is over", "not_allowed")
        tool = self._by_name.get(call.name)
        if tool is None:
            known = [tool.name for tool in self.tools]
            error = UnknownName("tool", call.name[:64], known)
            stop = "" if error.nearest else "."
            raise ToolError(f"{error}{stop} Known tools: {', '.join(known)}", "unknown_tool")
        decoded = tool.decode(call.arguments)
        if decoded.recovered:
            self._recoveries.extend({"tool": tool.name, "kind": kind} for kind in decoded.recovered)
        return tool.function(**decoded.values)

    async def _guard(self, name: str, function: Any, argument: Any) -> str:
        """Run a tool; a `ToolError` becomes its answer, anything else that is raised is ours."""
        try:
            result = function(argument)
            while isinstance(result, Awaitable):
                result = await result
            return as_text(result)
        except ToolError as error:
            self._errors.append({"tool": name, "kind": error.kind, "message": str(error)})
            return f"error: {error}"
        except (InfrastructureFailure, UserError):
            raise
        except Exception as error:
            raise InfrastructureFailure(
                "tool", name or type(self).__name__, f"{type(error).__name__}: {error}"
            ) from error

    def _check_split(self, split: str) -> str:
        if split not in self.splits:
            raise UnknownName(f"split of {type(self).__name__}", split, self.splits)
        return split


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits; the price of a function call instead of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise InfrastructureFailure("step", "ToolEnv", "a tool waited for something: declare safety = 'async'")


def digest(text: str) -> str:
    """A short, stable fingerprint (the same in every process, unlike `hash`)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def reward_parts(infos: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Sum of the named reward parts over the turns of an episode."""
    total: dict[str, float] = {}
    for info in infos:
        for name, value in info.get("reward_parts", {}).items():
            total[name] = total.get(name, 0.0) + value
    return total
