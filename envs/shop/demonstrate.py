"""How the task is done: search for what is wanted, open the product, choose, buy.

Invariant: from any state the moves lead to a purchase of the goal's own product with all that was asked for. They use the
goal's asin to know the product; everything that is clicked stands on the page. `hasty` moves know the instruction alone.
"""

from __future__ import annotations

from agentrl.envs.shop.fuzzy import same_choice
from agentrl.envs.shop.machine import BACK, BUY, NEXT, PER_PAGE, PREV, Act, State, labelled, on_page, page_of
from agentrl.envs.shop.records import Goal, Product
from agentrl.envs.shop.shelf import Shop
from agentrl.envs.shop.wishes import MAX_QUERY, searches


def expert_move(shop: Shop, goal: Goal, state: State) -> Act:
    """The next move of one who knows which product it is."""
    if state.page == "search":
        return Act("search", best_search(shop, goal))
    if state.page == "results":
        return among_results(shop, goal, state)
    if state.page == "item" and state.asin == goal.asin:
        missing = wanted_label(shop.product(goal.asin), goal, dict(state.chosen))
        return Act("click", missing or BUY)
    return Act("click", PREV)


def hasty_move(shop: Shop, goal: Goal, state: State) -> Act:
    """Search for the whole instruction, open the first product, buy it as it is."""
    if state.page == "search":
        return Act("search", goal.instruction[:MAX_QUERY])
    if state.page == "results":
        found = on_page(shop.search(state.query), state.number)
        return Act("click", shop.products[found[0]].asin if found else BACK)
    return Act("click", BUY if state.page == "item" else PREV)


def best_search(shop: Shop, goal: Goal) -> str:
    """The first of the wordings that finds the product."""
    return next(
        (words for words in searches(goal) if shop.finds(words.lower(), goal.asin)), goal.title[:MAX_QUERY]
    )


def among_results(shop: Shop, goal: Goal, state: State) -> Act:
    """Open the product if it is here, else turn to its page, or search again if that is shorter."""
    place = shop.by_asin[goal.asin]
    here = page_number(shop.search(state.query), place)
    if here == state.number:
        return Act("click", goal.asin)
    again = page_number(shop.search(best_search(shop, goal).lower()), place)
    if here == 0 or abs(here - state.number) > again + 1:
        return Act("click", BACK)
    return Act("click", NEXT if here > state.number else PREV)


def page_number(found: tuple[int, ...], place: int) -> int:
    """On which page of results a product is; 0 if on none."""
    return found.index(place) // PER_PAGE + 1 if place in found else 0


def wanted_label(product: Product, goal: Goal, chosen: dict[str, str]) -> str | None:
    """What is still to be clicked: a wanted value, or the cheapest one of an option that makes it too dear."""
    choices = [(name, value, label) for label, (name, value) in labelled(product)]
    for want in goal.options:
        fits = [choice for choice in choices if same_choice(choice[1], want)]
        if fits and not any(chosen.get(name) == value for name, value, _ in fits):
            # The closest wording: with the same words first.
            return min(fits, key=lambda choice: (choice[1] != want, choice[1]))[2]
    if product.price_of(chosen) > goal.price_upper:
        for option in product.options:
            cheap = option.values[option.extra.index(min(option.extra))]
            asked = any(same_choice(value, want) for value in option.values for want in goal.options)
            if not asked and chosen.get(option.name) not in (None, cheap):
                return next(label for name, value, label in choices if (name, value) == (option.name, cheap))
    return None


def available(shop: Shop, state: State) -> tuple[str, ...]:
    """The labels that can be clicked."""
    return page_of(shop, state).labels
