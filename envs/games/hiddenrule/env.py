"""`HiddenRule-v0`: find out a hidden order of many codes, two at a time, then state it.

Invariant: given the codes, every order is equally likely, and an answer tells nothing but which of two codes comes first. So
the bound of `rules` holds: few probes, no success. The codes of a task are together in one split only.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar, TypeAlias

from agentrl.core.env import Safety, ToolEnv, digest
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.drawing import TaskKey, check_between, drawn
from agentrl.envs.games.hiddenrule.rules import Known, enough, learned, next_probe, nothing, order_of, share
from agentrl.envs.generated import in_split

POOL = tuple(f"{letter}{number}" for letter in "ABCDEFGHJKLMNPQRSTUVWXYZ" for number in range(10, 100))
Order: TypeAlias = tuple[str, ...]


class HiddenRuleEnv(ToolEnv):
    """A machine puts codes into an order by a hidden rule; it tells of any two which comes first.

    Args:
        codes: 5 to 100. The order of n codes needs log2(n!) probes: 7 for 5, 45 for 16, 296 for 64, 525 for 100.
        progress: what knowing the whole order earns on the way, shared out among the probes by how many pairs each
            decides (reward part `progress`), 0 to 1.
        split: `train`, `validation` or `test`: no set of codes is in two.
        max_turns: by default one and a half times as many as the expert may need.
    """

    instructions = (
        "A machine puts codes into an order by a hidden rule that has nothing to do with how they are written. Probe "
        "two codes to learn which of them comes first. It is an order: if A comes before B, and B before C, then A comes "
        "before C. Find out the whole order, then submit it; you can submit once."
    )
    safety: ClassVar[Safety] = "inline"

    def __init__(
        self, *, codes: int = 64, progress: float = 0.0, split: str = "train", max_turns: int | None = None
    ) -> None:
        check_between("codes", codes, 5, 100)
        if isinstance(progress, bool) or not isinstance(progress, int | float) or not 0 <= progress <= 1:
            raise UserError(f"progress must be a number from 0 to 1, got {progress!r:.40}")
        super().__init__(split=split, max_turns=3 * enough(codes) // 2 if max_turns is None else max_turns)
        self.number, self.progress = codes, float(progress)
        self.codes: Order = ()
        self.order: Order = ()
        self.known: Known = nothing(codes)

    def task(self) -> str:
        key = TaskKey("hiddenrule", self.split, self.task_seed, (self.number,))
        self.codes, self.order = drawn(key, self._hidden, lambda pair: named(pair[0]))
        self.known = nothing(self.number)
        return f"The {self.number} codes: {' '.join(self.codes)}"

    def _hidden(self, rng: Random) -> tuple[Order, Order] | None:
        """Codes, and the order in which they are hidden."""
        codes = tuple(rng.sample(POOL, self.number))
        if not in_split(named(codes), self.split):
            return None
        return codes, tuple(rng.sample(codes, self.number))

    @tool
    def probe(self, a: str, b: str) -> str:
        """Learn which of two codes comes first.

        Args:
            a: a code.
            b: another code.
        """
        one, other = self._named(a), self._named(b)
        if one == other:
            raise ToolError("probe two different codes")
        first, second = sorted((one, other), key=self.order.index)
        before = self.known
        self.known = learned(before, self.codes.index(first), self.codes.index(second))
        if self.progress:
            self.add_reward(self.progress * (share(self.known) - share(before)), "progress")
        return f"{first} comes before {second}."

    @tool
    def submit(self, order: list[str]) -> str:
        """State the whole order; this ends the task.

        Args:
            order: every code once, the first one first.
        """
        named = tuple(map(self._named, order[: self.number + 1]))
        missing = [code for code in self.codes if code not in named]
        if missing or len(named) != self.number:
            wrong = f"misses {len(missing)} of them, e.g. {missing[0]}" if missing else f"has {len(order)}"
            raise ToolError(f"an order has each of the {self.number} codes once; this one {wrong}")
        right = named == self.order
        self.finish(1.0 if right else 0.0, success=right)
        return "This is the order." if right else "This is not the order."

    def _named(self, code: str) -> str:
        name = code.strip().upper()
        if name not in self.codes:
            raise ToolError(f"there is no code {code[:20]!r}")
        return name

    def state_key(self) -> str:
        """What follows from the answers, in whichever order they came."""
        return digest(" ".join(map(str, self.known.after)))

    def expert(self) -> Action:
        """The probe that halves where the next code may belong, from the answers alone; at last the order."""
        pair = next_probe(self.known)
        if pair is None:
            return call("submit", order=[self.codes[item] for item in order_of(self.known)])
        return call("probe", a=self.codes[pair[0]], b=self.codes[pair[1]])


def named(codes: Order) -> str:
    """What decides the split: which codes there are."""
    return " ".join(sorted(codes))
