"""Photograph three pages of the shop: `python examples/shop_pictures.py docs/images` (needs the extra `web` and a Chromium)."""

import asyncio
import sys
from pathlib import Path

from agentrl.envs.shop.catalogue import made_shop
from agentrl.envs.shop.demonstrate import expert_move
from agentrl.envs.shop.machine import State, transition
from agentrl.envs.shop.site import DOORS, Session
from agentrl.envs.web.browser import open_tab

SEED = 6


async def photograph(folder: Path) -> None:
    """`shop-search.png`, `shop-results.png` and `shop-item.png`, with an option chosen, of the expert's way."""
    shop = made_shop(0, 3000)
    goal = shop.goal("train", SEED)
    states = [State()]
    while states[-1].page != "done":
        states.append(transition(shop, states[-1], expert_move(shop, goal, states[-1])))
    shots = {"search": states[0], "results": states[1], "item": states[-2]}
    site, token = DOORS.enter()
    session = site.sessions[token] = Session(shop, goal)
    tab = await open_tab(site.origin, viewport=(1000, 700))
    try:
        for name, state in shots.items():
            session.state = state
            await tab.page.goto(f"{site.origin}/{token}/")
            await tab.page.screenshot(path=str(folder / f"shop-{name}.png"))
    finally:
        await tab.close()
        DOORS.leave(token)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(photograph(target))
