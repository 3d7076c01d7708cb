"""The shop as HTML: what a browser shows of a state.

Invariant: a pure function of (shop, state, instruction, notice); what can be clicked has exactly the labels that
the state machine knows, and every form names the action that it makes. Everything that is shown is escaped.
"""

from __future__ import annotations

from html import escape

from agentrl.envs.shop.goods import KINDS
from agentrl.envs.shop.machine import (
    BACK,
    BUY,
    NEXT,
    PER_PAGE,
    PREV,
    SUB_PAGES,
    State,
    labelled,
    on_page,
    sub_page,
)
from agentrl.envs.shop.pictures import picture
from agentrl.envs.shop.records import Product
from agentrl.envs.shop.shelf import Shop

STYLE = """
*{box-sizing:border-box}body{margin:0;font:15px/1.45 system-ui,"DejaVu Sans",sans-serif;color:#1d2733;background:#f3f5f8}
header{background:#14304f;color:#fff;padding:12px 28px;display:flex;align-items:center;gap:14px}
header b{font-size:19px;letter-spacing:.3px}header i{color:#f5b942;font-style:normal}
main{max-width:960px;margin:18px auto;padding:0 18px}
.wish{background:#fff8e6;border:1px solid #f0d999;border-radius:10px;padding:10px 16px;margin:0 0 14px}
.notice{background:#fdecea;border:1px solid #f2b8b2;border-radius:8px;padding:8px 14px;margin:0 0 12px;color:#8c1d18}
button{font:inherit;border:1px solid #c3ccd7;background:#fff;border-radius:8px;padding:7px 14px;cursor:pointer;color:#14304f}
button:hover{background:#eaf0f7}.go{background:#14304f;color:#fff;border-color:#14304f}.go:hover{background:#1f4673}
.buy{background:#f5b942;border-color:#e0a52c;color:#1d2733;font-weight:700;padding:11px 30px;font-size:16px}
.buy:hover{background:#ffc95c}.bar{display:flex;gap:8px;align-items:center;margin:0 0 14px}.bar span{margin-left:auto;color:#5b6775}
.hero{background:#fff;border-radius:14px;padding:38px 34px;text-align:center;box-shadow:0 1px 4px #0001}
.hero h1{margin:0 0 16px;font-size:24px}.hero form{display:flex;gap:8px;max-width:600px;margin:0 auto}
input[type=text]{flex:1;font:inherit;padding:10px 14px;border:1px solid #c3ccd7;border-radius:8px}
.decor{display:flex;flex-wrap:wrap;justify-content:center;gap:12px;margin:26px 0 0}.decor svg{width:84px;height:84px}
.card{display:flex;gap:16px;background:#fff;border-radius:12px;padding:12px 16px;margin:0 0 10px;box-shadow:0 1px 4px #0001}
.card svg{width:84px;height:84px;flex:none}.card a{color:#14508c;font-weight:600;text-decoration:none}.card a:hover{text-decoration:underline}
.card a.seen{color:#6b4a8c}.asin{color:#8793a1;font-size:12px}.price{font-size:17px;font-weight:700}.stars{color:#d28a00}
.item{display:grid;grid-template-columns:280px 1fr;gap:26px;background:#fff;border-radius:14px;padding:24px;box-shadow:0 1px 4px #0001}
.item svg{width:280px;height:280px}.item h2{margin:0 0 6px;font-size:21px;line-height:1.3}
fieldset{border:0;padding:0;margin:12px 0}legend{padding:0;color:#5b6775;margin-bottom:5px}
.chip{display:inline-block;margin:0 6px 6px 0}.chip input{position:absolute;opacity:.01;width:20px;height:20px}
.chip span{display:inline-block;border:1px solid #c3ccd7;border-radius:18px;padding:5px 14px;cursor:pointer;background:#fff}
.chip input:checked+span{background:#14304f;color:#fff;border-color:#14304f}.chip span:hover{border-color:#14304f}
.more{display:flex;gap:8px;margin:16px 0}.more form,.bar form{display:inline}ul{padding-left:20px}
"""
SCRIPT = """
(() => {
  let pending = Promise.resolve();
  const send = (form) => {
    const body = new URLSearchParams(new FormData(form));
    pending = fetch(form.getAttribute('action'), {method: 'POST', body, headers: {'X-Part': 'yes'}})
      .then((answer) => answer.text())
      .then((html) => { document.querySelector('main').innerHTML = html; scrollTo(0, 0); });
  };
  document.addEventListener('submit', (event) => { event.preventDefault(); send(event.target); });
  document.addEventListener('change', (event) => { if (event.target.type === 'radio') send(event.target.form); });
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-form]');
    if (link) { event.preventDefault(); send(document.getElementById(link.dataset.form)); }
  });
  window.__shop = { idle: () => pending.then(() => true) };
})();
"""


def whole_page(main: str) -> str:
    """A document around the part that changes."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The shop</title><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style></head><body><header><b>the <i>practice</i> shop</b></header>"
        f"<main>{main}</main><script>{SCRIPT}</script></body></html>"
    )


def main_part(shop: Shop, state: State, instruction: str, notice: str = "") -> str:
    """What changes from page to page."""
    told = f'<p class="notice" role="alert">{escape(notice)}</p>' if notice else ""
    wish = f'<p class="wish">Instruction: {escape(instruction)}</p>'
    if state.page == "search":
        return wish + told + search_part()
    if state.page == "done":
        return wish + told + '<div class="hero"><h1>Thank you for shopping with us!</h1></div>'
    if state.page == "results":
        return wish + told + results_part(shop, state)
    product = shop.product(state.asin)
    if state.page == "item":
        return wish + told + bar(BACK, PREV) + item_part(product, state)
    texts = "".join(f"<li>{escape(text)}</li>" for text in sub_page(product, state.page))
    return f'{wish}{told}{bar(BACK, PREV)}<div class="hero"><h1>{escape(state.page.title())}</h1><ul>{texts}</ul></div>'


def search_part() -> str:
    tiles = "".join(picture(sample(query)) for query in ("running shoes", "table lamp", "water bottle", "coffee beans",
                                                         "wireless headphones", "camping tent", "dog bed"))  # fmt: skip
    return (
        '<div class="hero"><h1>What are you looking for?</h1>'
        '<form method="post" action="act"><input type="hidden" name="kind" value="search">'
        '<input type="text" name="target" placeholder="Search products" autocomplete="off">'
        f'<button class="go">Search</button></form><div class="decor">{tiles}</div></div>'
    )


def sample(query: str) -> Product:
    """A stand-in for a kind, of which a picture can be drawn."""
    path = next(kind.path for kind in KINDS if kind.query == query)
    return Product(query, query, "", query, path, 0.0, (), (), (), "")


def results_part(shop: Shop, state: State) -> str:
    found = shop.search(state.query)
    buttons = [BACK]
    buttons += [PREV] if state.number > 1 else []
    buttons += [NEXT] if state.number * PER_PAGE < len(found) else []
    cards = []
    for place in on_page(found, state.number):
        product = shop.products[place]
        seen = ' class="seen"' if product.asin in state.opened else ""
        cards.append(
            f'<div class="card">{picture(product)}<div>{hidden_form(product.asin)}'
            f'<a href="#"{seen} data-form="f-{product.asin}">{escape(product.title)}</a>'
            f'<div class="asin">{product.asin}</div><div class="price">{escape(product.price_text({}))}</div>'
            f'<div class="stars">{stars(product)}</div></div></div>'
        )
    total = f"Page {state.number} (Total results: {len(found)})"
    return bar(*buttons, note=total) + ("".join(cards) or "<p>Nothing was found.</p>")


def item_part(product: Product, state: State) -> str:
    chosen = dict(state.chosen)
    groups: dict[str, list[str]] = {}
    for label, (name, value) in labelled(product):
        mark = " checked" if chosen.get(name) == value else ""
        groups.setdefault(name, []).append(
            f'<label class="chip"><input type="radio" name="target" value="{escape(label)}" '
            f'aria-label="{escape(label)}"{mark}><span>{escape(label)}</span></label>'
        )
    options = "".join(
        f'<form method="post" action="act"><input type="hidden" name="kind" value="click">'
        f"<fieldset><legend>{escape(name)}</legend>{''.join(chips)}</fieldset></form>"
        for name, chips in groups.items()
    )
    more = "".join(button(name) for name in SUB_PAGES)
    return (
        f'<div class="item"><div>{picture(product, chosen.get("color", ""))}</div><div><h2>{escape(product.title)}</h2>'
        f'<div class="stars">{stars(product)}</div><div class="price">Price: {escape(product.price_text(chosen))}</div>'
        f'{options}<div class="more">{more}</div>{button(BUY, "buy")}</div></div>'
    )


def stars(product: Product) -> str:
    if product.rating is None:
        return "Rating: N.A."
    return f"Rating: {product.rating:.1f} of 5"


def bar(*labels: str, note: str = "") -> str:
    return f'<div class="bar">{"".join(button(label) for label in labels)}<span>{escape(note)}</span></div>'


def button(label: str, style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return (
        '<form method="post" action="act"><input type="hidden" name="kind" value="click">'
        f'<button name="target" value="{escape(label)}"{kind}>{escape(label)}</button>'
        f'<input type="hidden" name="target" value="{escape(label)}"></form>'
    )


def hidden_form(asin: str) -> str:
    return (
        f'<form id="f-{asin}" method="post" action="act"><input type="hidden" name="kind" value="click">'
        f'<input type="hidden" name="target" value="{asin}"></form>'
    )
