"""Pictures of products: small inline SVG, drawn from the kind of goods and a colour.

Invariant: a pure function of the product and what is chosen; a chosen colour is the colour of the picture.
"""

from __future__ import annotations

from agentrl.envs.generated import stable
from agentrl.envs.shop.records import Product

# {m} is the main colour, {d} a darker one, {l} a lighter one; the canvas is 100 by 100.
GLYPHS: dict[str, str] = {
    "shoe": '<path d="M14 58c0-9 6-16 12-18l10 10c6 6 22 9 38 11 9 1 12 5 12 10v4H14z" fill="{m}"/>'
    '<path d="M14 72h72v6a4 4 0 0 1-4 4H18a4 4 0 0 1-4-4z" fill="{d}"/>'
    '<path d="M38 50l-5 7M46 55l-4 7M55 58l-3 7" stroke="{l}" stroke-width="3" stroke-linecap="round"/>',
    "shirt": '<path d="M36 20l-20 12 8 18 8-4v36h36V46l8 4 8-18-20-12c-3 8-25 8-28 0z" fill="{m}"/>'
    '<path d="M36 20c3 8 25 8 28 0l-5-2c-3 5-15 5-18 0z" fill="{d}"/>',
    "dress": '<path d="M40 16l-6 22 6 8-16 38h52L60 46l6-8-6-22c-4 8-16 8-20 0z" fill="{m}"/>'
    '<path d="M39 44h22l2 6H37z" fill="{d}"/>',
    "hat": '<ellipse cx="50" cy="66" rx="38" ry="11" fill="{d}"/><path d="M28 64c0-24 8-36 22-36s22 12 22 36c-8 6-36 6-44 0z" fill="{m}"/>'
    '<path d="M28 58c8 6 36 6 44 0v6c-8 6-36 6-44 0z" fill="{l}"/>',
    "watch": '<path d="M40 10h20l4 24H36zM40 90h20l4-24H36z" fill="{d}"/><circle cx="50" cy="50" r="22" fill="{m}"/>'
    '<circle cx="50" cy="50" r="16" fill="#fff"/><path d="M50 40v10l7 5" stroke="{d}" stroke-width="3" fill="none"/>',
    "bag": '<rect x="24" y="30" width="52" height="54" rx="12" fill="{m}"/><path d="M38 30c0-18 24-18 24 0" stroke="{d}" stroke-width="5" fill="none"/>'
    '<rect x="32" y="54" width="36" height="22" rx="6" fill="{d}"/><path d="M32 61h36" stroke="{l}" stroke-width="2"/>',
    "pillow": '<path d="M16 32c20-6 48-6 68 0 4 12 4 26 0 38-20 6-48 6-68 0-4-12-4-26 0-38z" fill="{m}"/>'
    '<path d="M24 40c16-4 36-4 52 0" stroke="{l}" stroke-width="3" fill="none"/><path d="M24 62c16 4 36 4 52 0" stroke="{d}" stroke-width="3" fill="none"/>',
    "cloth": '<path d="M18 26h64v44c-8 10-16-6-24 2s-16-6-24 2-12-4-16 0z" fill="{m}"/><path d="M18 36h64M18 48h64" stroke="{l}" stroke-width="3"/>'
    '<rect x="14" y="20" width="72" height="8" rx="4" fill="{d}"/>',
    "lamp": '<path d="M36 18h28l14 32H22z" fill="{m}"/><path d="M47 50h6v28h-6z" fill="{d}"/><ellipse cx="50" cy="82" rx="20" ry="6" fill="{d}"/>'
    '<path d="M40 24l-8 20" stroke="{l}" stroke-width="3"/>',
    "desk": '<rect x="12" y="38" width="76" height="9" rx="3" fill="{m}"/><path d="M18 47h7v36h-7zM75 47h7v36h-7z" fill="{d}"/>'
    '<rect x="54" y="47" width="22" height="14" fill="{l}"/><circle cx="65" cy="54" r="2" fill="{d}"/>',
    "chair": '<rect x="34" y="14" width="32" height="38" rx="8" fill="{m}"/><rect x="28" y="54" width="44" height="10" rx="5" fill="{d}"/>'
    '<path d="M47 64h6v14h-6z" fill="{d}"/><path d="M30 84l20-8 20 8" stroke="{d}" stroke-width="5" fill="none" stroke-linecap="round"/>',
    "bottle": '<rect x="42" y="12" width="16" height="12" rx="3" fill="{d}"/><path d="M40 26h20c8 8 10 14 10 22v32a8 8 0 0 1-8 8H38a8 8 0 0 1-8-8V48c0-8 2-14 10-22z" fill="{m}"/>'
    '<path d="M38 46v30" stroke="{l}" stroke-width="4" stroke-linecap="round"/>',
    "jar": '<rect x="30" y="20" width="40" height="12" rx="4" fill="{d}"/><rect x="26" y="34" width="48" height="50" rx="9" fill="{m}"/>'
    '<rect x="34" y="46" width="32" height="22" rx="3" fill="{l}"/><path d="M40 54h20M40 60h12" stroke="{d}" stroke-width="2"/>',
    "mug": '<path d="M22 30h44v42a10 10 0 0 1-10 10H32a10 10 0 0 1-10-10z" fill="{m}"/><path d="M66 40h8a8 8 0 0 1 8 8v6a12 12 0 0 1-12 12h-4" stroke="{d}" stroke-width="6" fill="none"/>'
    '<path d="M34 22c4-4-2-6 2-10M48 22c4-4-2-6 2-10" stroke="{l}" stroke-width="3" fill="none"/>',
    "pan": '<circle cx="40" cy="52" r="28" fill="{d}"/><circle cx="40" cy="52" r="22" fill="{m}"/><rect x="64" y="47" width="30" height="9" rx="4" fill="{d}"/>'
    '<path d="M28 44a16 16 0 0 1 12-8" stroke="{l}" stroke-width="3" fill="none"/>',
    "knife": '<path d="M14 58L66 22c6 12-2 26-16 36z" fill="{l}" stroke="{d}" stroke-width="2"/><path d="M46 62l-8-6 4-4 10 6 30 20c4 4-2 10-6 7z" fill="{m}"/>',
    "board": '<rect x="24" y="26" width="52" height="60" rx="8" fill="{m}"/><rect x="42" y="10" width="16" height="20" rx="6" fill="{d}"/>'
    '<path d="M34 42c10 4 22-4 32 0M34 56c10 4 22-4 32 0M34 70c10 4 22-4 32 0" stroke="{l}" stroke-width="2" fill="none"/>',
    "headphones": '<path d="M20 60V50a30 30 0 0 1 60 0v10" stroke="{d}" stroke-width="7" fill="none"/><rect x="14" y="54" width="18" height="28" rx="8" fill="{m}"/>'
    '<rect x="68" y="54" width="18" height="28" rx="8" fill="{m}"/>',
    "speaker": '<rect x="30" y="14" width="40" height="74" rx="12" fill="{m}"/><circle cx="50" cy="60" r="14" fill="{d}"/><circle cx="50" cy="60" r="6" fill="{l}"/>'
    '<circle cx="50" cy="32" r="7" fill="{d}"/>',
    "cable": '<path d="M20 74c30 16 44-8 24-18s-4-36 34-26" stroke="{m}" stroke-width="7" fill="none" stroke-linecap="round"/><rect x="74" y="22" width="16" height="14" rx="3" fill="{d}"/>'
    '<rect x="10" y="66" width="16" height="14" rx="3" fill="{d}"/>',
    "phone": '<rect x="30" y="10" width="40" height="80" rx="9" fill="{m}"/><rect x="35" y="18" width="30" height="62" rx="3" fill="{l}"/><circle cx="58" cy="25" r="4" fill="{d}"/>',
    "keyboard": '<rect x="10" y="34" width="80" height="36" rx="6" fill="{m}"/><path d="M18 43h64M18 52h64" stroke="{l}" stroke-width="6" stroke-dasharray="6 3"/><path d="M32 62h36" stroke="{d}" stroke-width="6"/>',
    "plug": '<rect x="28" y="34" width="44" height="42" rx="12" fill="{m}"/><path d="M40 18v16M60 18v16" stroke="{d}" stroke-width="6" stroke-linecap="round"/><circle cx="50" cy="55" r="8" fill="{l}"/>',
    "box": '<path d="M18 34l32-14 32 14v38L50 86 18 72z" fill="{m}"/><path d="M18 34l32 14 32-14M50 48v38" stroke="{d}" stroke-width="3" fill="none"/><path d="M34 27l32 14v10" stroke="{l}" stroke-width="4" fill="none"/>',
    "pouch": '<path d="M28 20h44l6 62a6 6 0 0 1-6 6H28a6 6 0 0 1-6-6z" fill="{m}"/><path d="M28 20h44l1 10H27z" fill="{d}"/><ellipse cx="50" cy="58" rx="16" ry="14" fill="{l}"/>'
    '<path d="M42 58c4-8 12-8 16 0" stroke="{d}" stroke-width="3" fill="none"/>',
    "mat": '<rect x="30" y="20" width="54" height="56" rx="4" fill="{m}"/><circle cx="26" cy="76" r="12" fill="{d}"/><circle cx="26" cy="76" r="5" fill="{l}"/><rect x="26" y="76" width="58" height="12" rx="5" fill="{d}"/>',
    "tent": '<path d="M50 16L90 82H10z" fill="{m}"/><path d="M50 36L68 82H32z" fill="{d}"/><path d="M50 16v66" stroke="{l}" stroke-width="3"/>',
    "pet": '<ellipse cx="50" cy="66" rx="40" ry="20" fill="{d}"/><ellipse cx="50" cy="60" rx="28" ry="12" fill="{l}"/><path d="M10 64c0-16 20-22 20-22s-8 14 20 14 20-14 20-14 20 6 20 22z" fill="{m}"/>',
    "book": '<rect x="26" y="14" width="50" height="72" rx="5" fill="{m}"/><rect x="26" y="14" width="9" height="72" rx="3" fill="{d}"/><rect x="42" y="28" width="26" height="14" rx="2" fill="{l}"/>',
}  # fmt: skip
LIKENESS = {
    "shoe": "running shoes, hiking boots, house slippers", "shirt": "dress shirt, rain jacket, kids pajamas",
    "dress": "summer dress, yoga leggings", "hat": "sun hat", "watch": "wrist watch", "bag": "laptop backpack",
    "pillow": "bed pillows", "cloth": "bed sheets, throw blanket, area rug, blackout curtains, bath towels, wool socks",
    "jar": "scented candle, face moisturizer, food storage containers", "desk": "computer desk, floating shelves",
    "chair": "office chair", "lamp": "table lamp, camping lantern", "plug": "bathroom faucet, smart plug",
    "bottle": "water bottle, sunscreen lotion, hair shampoo, liquid foundation, hand soap", "mug": "coffee mug",
    "pan": "frying pan", "knife": "kitchen knife", "board": "cutting board", "headphones": "wireless headphones",
    "speaker": "portable speaker", "cable": "charging cable, resistance bands", "phone": "phone case, flash drive",
    "keyboard": "mechanical keyboard", "pouch": "coffee beans, herbal tea, protein bars, trail mix", "mat": "yoga mat",
    "tent": "camping tent", "pet": "dog bed, cat toy", "box": "building blocks", "book": "hardcover notebook",
}  # fmt: skip
GLYPH_OF = {query: glyph for glyph, queries in LIKENESS.items() for query in queries.split(", ")}
PAINT = {
    "black": "#2b2d31", "white": "#f4f1ea", "navy": "#23395d", "burgundy": "#7a1f3d", "teal": "#1f8a8a",
    "olive": "#77803a", "ivory": "#efe6cf", "coral": "#f2785c", "lavender": "#a99bd6", "mustard": "#d6a72c",
    "charcoal": "#4a4e55", "turquoise": "#3cc2c2", "beige": "#d8c3a0", "crimson": "#b81d3a", "emerald": "#1f9d63",
    "peach": "#f7b48f", "silver": "#b8bcc4", "copper": "#b4693a", "indigo": "#4b4aa8", "maroon": "#6d1f2b",
}  # fmt: skip


def picture(product: Product, color: str = "") -> str:
    """An SVG element of the product in a colour; in one of its own where the colour is not known."""
    colors = sorted(PAINT)
    main = PAINT.get(color) or PAINT[colors[stable(product.asin) % len(colors)]]
    glyph = GLYPHS[GLYPH_OF.get(product.query, "box")]
    drawn = glyph.format(m=main, d=mixed(main, 0, 0.35), l=mixed(main, 255, 0.45))
    light = sum(int(main[at : at + 2], 16) for at in (1, 3, 5)) > 3 * 215
    ground = "#d9dfe7" if light else mixed(main, 255, 0.88)
    return (
        '<svg class="picture" viewBox="0 0 100 100" role="img">'
        f'<rect width="100" height="100" rx="8" fill="{ground}"/>{drawn}</svg>'
    )


def mixed(paint: str, other: int, share: float) -> str:
    """A colour (`#rrggbb`) mixed with a grey of 0 to 255."""
    parts = (int(paint[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part * (1 - share) + other * share):02x}" for part in parts)
