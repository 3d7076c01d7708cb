"""Blackjack against a dealer who draws from an endless deck."""

from __future__ import annotations

import functools
from typing import Any

from gymnasium.envs.toy_text.blackjack import sum_hand

from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.gridworld.adapter import DiscreteEnv, bare_inner

CARDS = {card: (4 if card == 10 else 1) / 13 for card in range(1, 11)}
"""Chance of every card: tens and pictures count 10, an ace is 1."""
STICK, HIT = 0, 1


class BlackjackEnv(DiscreteEnv):
    """Play one hand of blackjack: draw cards, or stick and let the dealer draw. Winning is partly luck."""

    max_turns = 12
    question = "Come closer to 21 than the dealer without going over. An ace counts 11 where that fits."
    expert_success = 0.2  # the best play wins about 43 of 100 hands; of 60 hands hardly ever fewer than 12

    def begin(self, seed: int) -> Any:
        if self.inner is None:
            self.inner = bare_inner("Blackjack-v1")
        return self.inner.reset(seed=seed)[0]

    def describe(self) -> str:
        total, dealer, ace = self.seen
        usable = " with an ace as 11" if ace else ""
        return f"your cards: {int(total)}{usable}; the dealer shows: {int(dealer)}"

    def remark(self, reward: float, terminated: bool) -> str:
        if not terminated:
            return ""
        if int(self.seen[0]) > 21:
            return "You went over 21 and lose."
        dealer = sum_hand(self.inner.dealer)
        outcome = "You win." if reward > 0 else "You lose." if reward < 0 else "A draw."
        return f"The dealer has {int(dealer)}. {outcome}"

    def state_key(self) -> str:
        total, dealer, ace = self.seen
        return f"{int(total)} {int(dealer)} {int(ace)}"

    @tool
    def hit(self) -> str:
        """Draw a card."""
        return self.act(HIT)

    @tool
    def stick(self) -> str:
        """Draw no more; the dealer plays."""
        return self.act(STICK)

    def expert(self) -> Action:
        total, dealer, ace = self.seen
        drawing = hit_value(int(total), int(dealer), bool(ace))
        return call("hit" if drawing > stick_value(int(total), int(dealer)) else "stick")


@functools.cache
def dealer_ends(total: int, aces: bool) -> dict[int, float]:
    """Chances of the dealer's final sums (0 = over 21) from a hand; the dealer sticks from 17 on."""
    best = total + 10 if aces and total + 10 <= 21 else total
    if best >= 17:
        return {best if best <= 21 else 0: 1.0}
    out: dict[int, float] = {}
    for card, chance in CARDS.items():
        for end, p in dealer_ends(total + card, aces or card == 1).items():
            out[end] = out.get(end, 0.0) + chance * p
    return out


@functools.cache
def stick_value(total: int, dealer: int) -> float:
    """Expected reward of sticking: 1 for a win, -1 for a loss, 0 for a draw."""
    ends = dealer_ends(dealer, dealer == 1)
    return sum(p * ((total > end) - (total < end)) for end, p in ends.items())


@functools.cache
def hit_value(total: int, dealer: int, ace: bool) -> float:
    """Expected reward of drawing once and playing on as well as can be."""
    value = 0.0
    for card, chance in CARDS.items():
        hard = total - 10 * ace + card
        soft = (ace or card == 1) and hard + 10 <= 21
        new = hard + 10 * soft
        if new > 21:
            value -= chance
        else:
            value += chance * max(stick_value(new, dealer), hit_value(new, dealer, soft))
    return value
