"""`Shop-v0`: buy what somebody wants, in a shop of thousands of products, as text.

Only buying ends the episode and earns: the reward is that of `reward.judge` for what was bought with the options that
were chosen. Nothing that is shown names the product that the goal was made from.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from agentrl.core.env import ForkKind, Safety, ToolEnv, digest
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, Message, Observation, assistant, call
from agentrl.core.tool import tool
from agentrl.envs.shop.catalogue import MAX_PRODUCTS, made_shop
from agentrl.envs.shop.demonstrate import expert_move, hasty_move
from agentrl.envs.shop.machine import Act, State, parse, transition
from agentrl.envs.shop.records import Goal
from agentrl.envs.shop.reward import Judgement, judge
from agentrl.envs.shop.shelf import Shop
from agentrl.envs.shop.text import STYLES, Style, page_text

Actions: TypeAlias = Literal["tools", "text", "both"]
HOW = {
    "tools": "Use the tools: search where there is a search box, click what stands on the page.",
    "text": "Answer with one action: search[words] where there is a search box, or click[label].",
    "both": "Act with the tools, or answer with one action: search[words] or click[label].",
}
WHAT = "You are in an online shop. Find what the instruction asks for, choose its options, and click Buy Now."


def shop_of(products: int | str, goals: str | None, catalogue_seed: int) -> Shop:
    """The shop that the arguments of an environment mean.

    Raises:
        UserError: a number of products that is not allowed, or files that cannot be read.
    """
    if isinstance(products, str | Path):
        from agentrl.envs.shop.loader import loaded_shop

        return loaded_shop(str(products), None if goals is None else str(goals))
    if goals is not None:
        raise UserError("goals= names a file of goals and needs products= to name the file of its products")
    if isinstance(products, bool) or not isinstance(products, int) or not 200 <= products <= MAX_PRODUCTS:
        raise UserError(f"products must be a number from 200 to {MAX_PRODUCTS} or a file, got {products!r}")
    return made_shop(int(catalogue_seed), products)


class Shopping(ToolEnv):
    """What both forms of the shop have in common: the arguments, the task, the moves, the reward."""

    max_turns = 20
    shared: ClassVar[frozenset[str]] = frozenset({"shop"})

    def __init__(
        self,
        *,
        split: str = "train",
        products: int | str = 3000,
        goals: str | None = None,
        catalogue_seed: int = 0,
        max_turns: int | None = None,
    ) -> None:
        super().__init__(split=split, max_turns=max_turns)
        self.shop = shop_of(products, goals, catalogue_seed)
        if isinstance(products, str | Path):
            self.expert_success = 0.0  # some goals of files cannot be met: nothing is promised
        self.goal: Goal | None = None
        self.state = State()
        self.judgement: Judgement | None = None

    def begin(self) -> Goal:
        """The goal of this episode, and the first page."""
        self.goal = self.shop.goal(self.split, self.task_seed)
        self.state, self.judgement = State(), None
        return self.goal

    def wanted(self) -> Goal:
        if self.goal is None:
            raise UserError("reset() first: no episode has begun")
        return self.goal

    def arrive(self, state: State) -> None:
        """Be in a state; one in which something was bought ends the episode."""
        self.state = state
        if state.page == "done":
            bought = self.shop.product(state.asin)
            self.judgement = judge(bought, dict(state.chosen), self.wanted())
            self.finish(self.judgement.reward, success=self.judgement.reward == 1.0)

    def state_key(self) -> str:
        """The instruction, the page and the choices; not what was looked at before."""
        instruction = self.goal.instruction if self.goal else ""
        return digest(repr((instruction, *self.state[:-1])))

    async def _play(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        result = await super()._play(action)
        if self.judgement is not None:
            result[4]["purchase"] = self.judgement.to_dict()
        return result


class ShopEnv(Shopping):
    """Buy what an instruction asks for, in a shop of thousands of products, by searching and clicking.

    Args:
        split: `train`, `validation` or `test`: no product to buy and no wish is in two.
        products: how many products are made up, 200 to 100,000; or a file of WebShop's products.
        goals: a file of WebShop's goals, for `products` from a file.
        catalogue_seed: another seed, another catalogue.
        actions: `tools` (search, click), `text` (`search[words]`, `click[label]`) or `both`.
        observation: `rich` marks what can be clicked, `simple` separates by [SEP].
        list_actions: end every page with what can be done there.
        max_turns: turns after which the episode is cut off.

    Raises:
        UserError: an argument that is not allowed.
    """

    fork: ClassVar[ForkKind] = "copy"
    safety: ClassVar[Safety] = "inline"

    def __init__(
        self,
        *,
        split: str = "train",
        products: int | str = 3000,
        goals: str | None = None,
        catalogue_seed: int = 0,
        actions: Actions = "tools",
        observation: Style = "rich",
        list_actions: bool = False,
        max_turns: int | None = None,
    ) -> None:
        if actions not in HOW:
            raise UserError(f"actions must be 'tools', 'text' or 'both', not {actions!r}")
        if observation not in STYLES:
            raise UserError(f"observation must be 'rich' or 'simple', not {observation!r}")
        super().__init__(
            split=split, products=products, goals=goals, catalogue_seed=catalogue_seed, max_turns=max_turns
        )
        self.actions, self.observation, self.list_actions = actions, observation, bool(list_actions)
        self.instructions = f"{WHAT} {HOW[actions]}"
        if actions == "text":
            self.tools = ()

    def task(self) -> str:
        self.begin()
        return self._look()

    def _look(self) -> str:
        return page_text(
            self.shop, self.state, self.observation, self.wanted().instruction, self.list_actions
        )

    def _act(self, act: Act) -> str:
        self.arrive(transition(self.shop, self.state, act))
        return self._look()

    @tool
    def search(self, query: str) -> str:
        """Search the shop; only where there is a search box.

        Args:
            query: the words to look for.
        """
        return self._act(Act("search", query))

    @tool
    def click(self, target: str) -> str:
        """Click a button, a product or an option of the page.

        Args:
            target: its label, as the page shows it.
        """
        return self._act(Act("click", target))

    def on_text(self, text: str) -> str:
        if self.actions == "tools":
            raise ToolError("call one of the tools: search, click", "no_tool_call")
        return self._act(parse(text))

    def expert(self) -> Message:
        """See `demonstrate`."""
        return self._said(expert_move(self.shop, self.wanted(), self.state))

    def hasty_expert(self) -> Message:
        """Buys the first product that a search for the instruction finds, without choosing."""
        return self._said(hasty_move(self.shop, self.wanted(), self.state))

    def _said(self, act: Act) -> Message:
        if self.actions == "text":
            return assistant(f"{act.kind}[{act.target}]")
        return call("search", query=act.target) if act.kind == "search" else call("click", target=act.target)
