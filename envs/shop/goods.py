"""The kinds of goods that are made up: their names, what can be said of them, how they can be had, what they cost.

Invariant: of one kind, no two attributes and no two values of an option are taken for each other by the reward
(`reward.similar`), so a wish is met by what it names and by nothing else of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentrl.envs.shop.records import listed

COLORS = listed(
    "black white navy burgundy teal olive ivory coral lavender mustard charcoal turquoise beige "
    "crimson emerald peach silver copper indigo maroon"
)

OPTIONS: dict[str, tuple[str, tuple[str, ...], float]] = {
    # name of the set: (name of the option, its values, how much of the price each further value adds)
    "color": ("color", COLORS, 0.0),
    "clothing": ("size", ("small", "medium", "large", "2xl", "3xl"), 0.04),
    "shoe": ("size", ("6", "7", "8", "9", "10", "11", "12"), 0.0),
    "bed": ("size", ("twin", "full", "queen", "king"), 0.18),
    "rug": ("size", ("2x3", "4x6", "5x8", "8x10"), 0.55),
    "pack": ("pack", ("single", "twin pack", "family size", "bulk case"), 0.7),
    "bottle": ("volume", ("12oz", "18oz", "24oz", "40oz"), 0.16),
    "cup": ("volume", ("250ml", "350ml", "600ml"), 0.1),
    "length": ("length", ("3ft", "6ft", "10ft", "15ft"), 0.25),
    "storage": ("capacity", ("64gb", "128gb", "256gb", "512gb"), 0.35),
    "scent": (
        "scent",
        ("unscented", "eucalyptus", "vanilla", "citrus", "cedarwood", "jasmine", "peppermint"),
        0.0,
    ),
    "flavor": ("flavor", ("chocolate", "strawberry", "salted caramel", "mango", "hazelnut", "ginger"), 0.0),
    "roast": ("roast", ("light", "medium", "dark", "espresso"), 0.0),
    "finish": ("finish", ("brushed nickel", "matte black", "antique brass", "polished chrome"), 0.05),
    "wood": ("wood", ("oak", "walnut", "bamboo", "pine"), 0.1),
    "plug": ("connector", ("usb c", "lightning", "micro usb"), 0.0),
    "shade": ("shade", ("porcelain", "sand", "honey", "almond", "espresso", "rosewood"), 0.0),
    "hardness": ("hardness", ("soft", "medium", "firm"), 0.0),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of goods.

    Attributes:
        path: the shop's departments, from wide to narrow.
        query: what one calls it who looks for it.
        names: what a product of it may be called.
        attributes: what may be true of one.
        options: names of `OPTIONS`.
        price: dollars, from and to.
        uses: what it is for.
    """

    path: tuple[str, ...]
    query: str
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    price: tuple[int, int]
    uses: tuple[str, ...]


def split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def kind(
    path: str, query: str, names: str, attributes: str, options: str, price: tuple[int, int], uses: str
) -> Kind:
    where = tuple(part.strip() for part in path.split(">"))
    return Kind(where, query, split(names), split(attributes), tuple(options.split()), price, split(uses))


WORN = "machine washable, moisture wicking, quick drying, wrinkle free, hand wash, tumble dry"
HOUSE = "easy to clean, heavy duty, space saving, easy to assemble, scratch proof"
SKIN = "cruelty free, paraben free, fragrance free, dermatologist tested, vegan, long lasting"
FOOD = "gluten free, non gmo, sugar free, dairy free, organic, kosher, low sodium"
POWER = "fast charging, long lasting, plug and play, high speed, light weight"

KINDS: tuple[Kind, ...] = (
    kind("Clothing > Shoes > Running Shoes", "running shoes",
         "Running Shoes, Trail Running Shoes, Road Running Shoes",
         "slip resistant, arch support, light weight, breathable, memory foam, vegan leather, quick drying, wide fit",
         "color shoe", (39, 129), "daily training, long runs, walks in the park"),
    kind("Clothing > Shoes > Boots", "hiking boots", "Hiking Boots, Mountain Boots, Ankle Boots",
         "waterproof, steel toe, slip resistant, memory foam, full grain leather, ankle support, insulated",
         "color shoe", (59, 179), "rocky trails, wet forests, work outdoors"),
    kind("Clothing > Shoes > Slippers", "house slippers", "House Slippers, Clog Slippers, Moccasin Slippers",
         "memory foam, rubber sole, fleece lined, machine washable, open toe, slip resistant",
         "color shoe", (14, 45), "cold floors, slow mornings, dormitories"),
    kind("Clothing > Women > Dresses", "summer dress", "Summer Dress, Wrap Dress, Maxi Dress",
         f"{WORN}, long sleeve, v neck, high waist, pockets included", "color clothing", (22, 79),
         "garden parties, holidays at the sea, the office"),
    kind("Clothing > Women > Leggings", "yoga leggings", "Yoga Leggings, Workout Leggings, Capri Leggings",
         f"{WORN}, high waist, tummy control, squat proof, butt lifting", "color clothing", (15, 68),
         "yoga classes, the gym, lazy Sundays"),
    kind("Clothing > Men > Shirts", "dress shirt", "Dress Shirt, Oxford Shirt, Poplin Shirt",
         f"{WORN}, slim fit, long sleeve, button down, pure cotton", "color clothing", (19, 89),
         "the office, weddings, travel"),
    kind("Clothing > Men > Jackets", "rain jacket", "Rain Jacket, Shell Jacket, Hooded Jacket",
         "waterproof, wind resistant, fleece lined, light weight, machine washable, zipper closure, packable",
         "color clothing", (39, 159), "city rain, sailing, autumn walks"),
    kind("Clothing > Kids > Pajamas", "kids pajamas", "Kids Pajamas, Sleepwear Set, Pajama Set",
         f"{WORN}, flame resistant, pure cotton, long sleeve, elastic waist", "color clothing", (12, 39),
         "bedtime, sleepovers, cold nights"),
    kind("Clothing > Accessories > Socks", "wool socks", "Wool Socks, Crew Socks, Boot Socks",
         "moisture wicking, cushioned, merino, odor resistant, seamless toe, arch support, machine washable",
         "color clothing pack", (9, 29), "hikes, winter, boots"),
    kind("Clothing > Accessories > Backpacks", "laptop backpack", "Laptop Backpack, Commuter Backpack, Daypack",
         "water resistant, anti theft, light weight, padded straps, carry on size, heavy duty, usb charging",
         "color", (25, 119), "commuting, weekend trips, school"),
    kind("Clothing > Accessories > Hats", "sun hat", "Sun Hat, Bucket Hat, Wide Brim Hat",
         "uv protection, packable, breathable, quick drying, chin strap, hand wash", "color clothing", (11, 42),
         "the beach, gardening, fishing"),
    kind("Clothing > Jewelry > Watches", "wrist watch", "Wrist Watch, Dress Watch, Field Watch",
         "water resistant, scratch proof, stainless steel, luminous hands, solar powered, leather strap",
         "color", (35, 240), "every day, dinners, the outdoors"),
    kind("Home > Bedding > Pillows", "bed pillows", "Bed Pillows, Sleeping Pillows, Side Sleeper Pillow",
         "memory foam, machine washable, hypoallergenic, cooling, down alternative, adjustable loft",
         "bed hardness", (18, 75), "side sleepers, guest rooms, hot nights"),
    kind("Home > Bedding > Sheets", "bed sheets", "Bed Sheets, Sheet Set, Fitted Sheets",
         f"{WORN}, deep pocket, hypoallergenic, eco friendly, super soft", "color bed", (24, 110),
         "master bedrooms, guest rooms, campers"),
    kind("Home > Bedding > Blankets", "throw blanket", "Throw Blanket, Fleece Blanket, Knit Blanket",
         "machine washable, super soft, double sided, reversible, heavy weight, pet friendly, pill resistant",
         "color bed", (15, 69), "the sofa, reading, road trips"),
    kind("Home > Decor > Rugs", "area rug", "Area Rug, Living Room Rug, Runner Rug",
         "easy to clean, non slip, stain resistant, hand woven, low pile, pet friendly, fade resistant",
         "color rug", (29, 99), "living rooms, hallways, playrooms"),
    kind("Home > Decor > Curtains", "blackout curtains", "Blackout Curtains, Window Curtains, Curtain Panels",
         "machine washable, noise reducing, energy efficient, thermal insulated, wrinkle free, grommet top",
         "color length", (18, 64), "bedrooms, nurseries, home cinemas"),
    kind("Home > Decor > Candles", "scented candle", "Scented Candle, Jar Candle, Soy Candle",
         "long lasting, lead free, soy wax, hand poured, smoke free, eco friendly", "scent pack", (9, 38),
         "evenings, baths, presents"),
    kind("Home > Furniture > Desks", "computer desk", "Computer Desk, Writing Desk, Office Desk",
         f"{HOUSE}, height adjustable, cable management, white glove delivery", "wood color", (79, 249),
         "home offices, students, gaming"),
    kind("Home > Furniture > Shelves", "floating shelves", "Floating Shelves, Wall Shelves, Display Shelves",
         f"{HOUSE}, wall mounted, water resistant, solid wood", "wood pack", (19, 79),
         "bathrooms, books, small kitchens"),
    kind("Home > Furniture > Chairs", "office chair", "Office Chair, Desk Chair, Swivel Chair",
         f"{HOUSE}, lumbar support, height adjustable, breathable mesh, high density foam", "color", (85, 299),
         "long days, home offices, gaming"),
    kind("Home > Lighting > Lamps", "table lamp", "Table Lamp, Bedside Lamp, Reading Lamp",
         "dimmable, energy efficient, touch control, eye caring, usb charging, glass shade, easy to install",
         "finish wood", (22, 95), "bedside tables, desks, corners"),
    kind("Home > Bath > Towels", "bath towels", "Bath Towels, Towel Set, Hand Towels",
         "highly absorbent, quick drying, machine washable, lint free, pure cotton, fade resistant, eco friendly",
         "color pack", (16, 62), "family bathrooms, the gym, guests"),
    kind("Home > Bath > Faucets", "bathroom faucet", "Bathroom Faucet, Sink Faucet, Basin Faucet",
         "lead free, easy to install, water saving, drip free, solid brass, single handle, corrosion resistant",
         "finish", (45, 189), "vanities, guest baths, renovations"),
    kind("Kitchen > Drinkware > Bottles", "water bottle", "Water Bottle, Sports Bottle, Insulated Bottle",
         "bpa free, leak proof, vacuum insulated, dishwasher safe, wide mouth, stainless steel, sweat proof",
         "color bottle", (14, 45), "the gym, hikes, the office"),
    kind("Kitchen > Drinkware > Mugs", "coffee mug", "Coffee Mug, Travel Mug, Tea Mug",
         "microwave safe, lead free, dishwasher safe, spill proof, double walled, hand painted",
         "color cup pack", (9, 32), "breakfast, the desk, presents"),
    kind("Kitchen > Cookware > Pans", "frying pan", "Frying Pan, Skillet, Egg Pan",
         "non stick, oven safe, induction ready, dishwasher safe, heavy duty, pfoa free, stay cool handle",
         "color pack", (21, 88), "eggs, searing, camp kitchens"),
    kind("Kitchen > Tools > Knives", "kitchen knife", "Kitchen Knife, Chef Knife, Paring Knife",
         "high carbon, ergonomic grip, rust resistant, razor sharp, full tang, hand forged, dishwasher safe",
         "wood pack", (18, 129), "vegetables, meat, presents"),
    kind("Kitchen > Tools > Boards", "cutting board", "Cutting Board, Chopping Board, Carving Board",
         "non slip, bpa free, easy to clean, juice groove, knife friendly, reversible, food grade",
         "wood pack", (13, 59), "carving, herbs, serving cheese"),
    kind("Kitchen > Storage > Containers", "food storage containers",
         "Food Storage Containers, Meal Prep Containers, Pantry Containers",
         "bpa free, leak proof, freezer safe, microwave safe, air tight, stackable, crystal clear",
         "cup pack color", (14, 49), "meal prep, pantries, lunch"),
    kind("Electronics > Audio > Headphones", "wireless headphones",
         "Wireless Headphones, Bluetooth Headphones, Studio Headphones",
         f"noise cancelling, {POWER}, hands free, sweat proof, foldable", "color", (29, 229),
         "flights, work calls, running"),
    kind("Electronics > Audio > Speakers", "portable speaker",
         "Portable Speaker, Bluetooth Speaker, Outdoor Speaker",
         "waterproof, stereo sound, heavy bass, hands free, dust proof, long lasting, fast charging",
         "color", (25, 149), "picnics, showers, workshops"),
    kind("Electronics > Cables > Charging", "charging cable", "Charging Cable, Charger Cord, Data Cable",
         f"{POWER}, nylon braided, tangle free, gold plated", "plug length color", (7, 25),
         "the car, bedside, travel"),
    kind("Electronics > Storage > Drives", "flash drive", "Flash Drive, Thumb Drive, Memory Stick",
         f"{POWER}, water resistant, shock proof, password protected", "storage color", (9, 39),
         "backups, school, photos"),
    kind("Electronics > Phones > Cases", "phone case", "Phone Case, Protective Case, Slim Case",
         "wireless charging, shock proof, scratch proof, anti yellowing, non slip, military grade, crystal clear",
         "color plug", (9, 35), "clumsy hands, building sites, travel"),
    kind("Electronics > Computers > Keyboards", "mechanical keyboard",
         "Mechanical Keyboard, Gaming Keyboard, Compact Keyboard",
         "plug and play, hot swappable, back lit, spill proof, quiet keys, aluminum alloy, long lasting",
         "color plug", (39, 159), "gaming, writing, small desks"),
    kind("Electronics > Home > Plugs", "smart plug", "Smart Plug, Wifi Plug, Outlet Plug",
         "voice controlled, easy to install, energy efficient, flame retardant, surge protected, compact design",
         "pack color", (11, 35), "lamps, coffee machines, holidays"),
    kind("Beauty > Skin > Moisturizers", "face moisturizer", "Face Moisturizer, Day Cream, Gel Cream",
         f"{SKIN}, oil free, hyaluronic, anti aging", "scent pack", (9, 58), "dry skin, winter, make up bases"),
    kind("Beauty > Skin > Sunscreens", "sunscreen lotion", "Sunscreen Lotion, Sun Cream, Mineral Sunscreen",
         f"{SKIN}, water resistant, reef safe, zinc based", "scent bottle", (8, 35),
         "beaches, skiing, children"),
    kind("Beauty > Hair > Shampoo", "hair shampoo", "Hair Shampoo, Repair Shampoo, Volume Shampoo",
         f"{SKIN}, sulfate free, color safe, dandruff fighting", "scent bottle", (8, 36),
         "fine hair, curls, dry scalps"),
    kind("Beauty > Makeup > Foundation", "liquid foundation",
         "Liquid Foundation, Matte Foundation, Serum Foundation",
         f"{SKIN}, oil free, full coverage, light weight formula", "shade", (9, 49),
         "every day, photographs, oily skin"),
    kind("Beauty > Bath > Soap", "hand soap", "Hand Soap, Bar Soap, Foaming Soap",
         "cruelty free, paraben free, plant based, palm oil free, antibacterial, moisturizing, tear free",
         "scent pack", (5, 27), "kitchens, guest bathrooms, sensitive hands"),
    kind("Grocery > Beverages > Coffee", "coffee beans", "Coffee Beans, Whole Bean Coffee, Arabica Coffee Beans",
         "fair trade, organic, non gmo, low acid, hand roasted, mold tested, shade grown", "roast pack", (9, 32),
         "espresso machines, filters, cold brew"),
    kind("Grocery > Beverages > Tea", "herbal tea", "Herbal Tea, Loose Leaf Tea, Tea Bags",
         f"{FOOD}, caffeine free, hand picked", "pack flavor", (6, 24), "evenings, the office, iced pitchers"),
    kind("Grocery > Snacks > Bars", "protein bars", "Protein Bars, Energy Bars, Snack Bars",
         f"{FOOD}, high protein, low carb", "flavor pack", (8, 34), "after training, hikes, school bags"),
    kind("Grocery > Snacks > Nuts", "trail mix", "Trail Mix, Nut Mix, Fruit and Nut Mix",
         f"{FOOD}, resealable, high fiber", "flavor pack", (7, 29), "hikes, offices, long drives"),
    kind("Sports > Fitness > Mats", "yoga mat", "Yoga Mat, Exercise Mat, Fitness Mat",
         "non slip, eco friendly, extra thick, easy to clean, latex free, carry strap, moisture resistant",
         "color hardness", (17, 79), "yoga, stretching, physiotherapy"),
    kind("Sports > Fitness > Bands", "resistance bands", "Resistance Bands, Exercise Bands, Loop Bands",
         "latex free, snap resistant, light weight, non slip, door anchor, travel friendly", "color hardness",
         (9, 38), "home training, rehabilitation, travel"),
    kind("Sports > Camping > Tents", "camping tent", "Camping Tent, Dome Tent, Backpacking Tent",
         "waterproof, wind resistant, easy to assemble, light weight, uv protection, double layer, mesh windows",
         "color bed", (55, 240), "festivals, family camping, long treks"),
    kind("Sports > Camping > Lights", "camping lantern", "Camping Lantern, Tent Light, Lantern Light",
         "rechargeable, water resistant, dimmable, solar powered, long lasting, magnetic base, shock proof",
         "color pack", (12, 55), "tents, power cuts, fishing at night"),
    kind("Pets > Dogs > Beds", "dog bed", "Dog Bed, Pet Sofa, Orthopedic Dog Bed",
         "machine washable, memory foam, chew proof, non slip, waterproof liner, super soft, odor resistant",
         "color clothing", (23, 99), "old dogs, crates, the living room"),
    kind("Pets > Cats > Toys", "cat toy", "Cat Toy, Feather Toy, Kitten Toy",
         "non toxic, motion activated, rechargeable, catnip filled, self grooming, easy to clean", "color pack",
         (6, 28), "indoor cats, kittens, rainy days"),
    kind("Toys > Building > Blocks", "building blocks", "Building Blocks, Stacking Blocks, Wooden Blocks",
         "non toxic, bpa free, easy to clean, smooth edges, storage box, hand painted, early learning",
         "wood pack", (15, 69), "toddlers, classrooms, rainy days"),
    kind("Office > Supplies > Notebooks", "hardcover notebook", "Hardcover Notebook, Dotted Notebook, Journal",
         "acid free, lay flat, bleed proof, elastic closure, numbered pages, eco friendly, pocket size",
         "color pack", (8, 32), "meetings, diaries, sketches"),
)  # fmt: skip

BRAND_HEADS = listed(
    "Al Bre Cor Del Fen Gal Hol Jor Kel Lum Mar Nor Or Pel Quin Ros Sel Tor Ul Vel Wen Yar Zan Tam"
)
BRAND_TAILS = listed("vora dal mint wick ario sten lane more brook field tide via nex ora und ell ari esso")
MODELS = listed(
    "Harbor Nova Cedar Ridge Comet Willow Summit Atlas Ember Meadow Pixel Drift Aurora Canyon Lotus Falcon "
    "Breeze Orchard Delta Granite Fjord Juniper Mistral Quartz Saffron Tundra Umbra Vista Zephyr Onyx"
)
