"""Task templates of the retail back office: half of them are to be refused.

Invariant: the outcome is what the policy says of the world that was drawn (`ruling`), never a choice of the template.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from agentrl.envs.api.names import Draw
from agentrl.envs.api.retail.service import REASONS, WINDOW
from agentrl.envs.api.service import Call
from agentrl.envs.api.state import Row, State
from agentrl.envs.api.task import COMPLETED, Draft, Template

OPTIONS = ("small", "medium", "large", "black", "white", "blue")
STREETS = ("Mill Lane", "High Street", "Station Road", "Park Avenue", "Church Way")
CITIES = ("Graz", "Porto", "Lyon", "Turku", "Bergen", "Leeds")
PAYMENTS = ("card", "paypal", "gift_card")


def address(draw: Draw) -> dict[str, str]:
    street = f"{draw.number(1, 199)} {draw.one(STREETS)}"
    return {"street": street, "city": draw.one(CITIES), "zip": str(draw.number(10000, 99999))}


def world(draw: Draw) -> State:
    """Four customers with two orders each, and products in three variants."""
    products: dict[str, Row] = {}
    variants: dict[str, Row] = {}
    for index, (head, tail) in enumerate(draw.titles(5)):
        product = f"P{100 + index}"
        products[product] = {"id": product, "name": f"{head} {tail}"}
        for option in draw.some(OPTIONS, 3):
            item = str(draw.number(100000, 999999))
            price = draw.number(500, 20000) / 100
            variants[item] = {
                "item": item,
                "product": product,
                "option": option,
                "price": price,
                "in_stock": draw.chance(0.7),
            }
    customers: dict[str, Row] = {}
    orders: dict[str, Row] = {}
    for first, last in draw.persons(4):
        number = f"U{draw.number(1000, 9999)}"
        email = f"{first}.{last}@example.org".lower()
        customers[number] = {
            "id": number,
            "name": f"{first} {last}",
            "email": email,
            "address": address(draw),
        }
        for _ in range(2):
            key = f"W{draw.number(10000, 99999)}"
            status = draw.one(("pending", "processed", "delivered"))
            lines = [
                {"item": item, "price": variants[item]["price"], "final_sale": draw.chance(0.2)}
                for item in draw.some(list(variants), 3)
            ]
            orders[key] = order(draw, key, number, customers[number]["address"], status, lines)
    tables = {
        "customers": customers,
        "products": products,
        "variants": variants,
        "orders": orders,
        "notes": {},
    }
    return State(tables, {}, "2031-06-01T08:00:00Z")


def order(draw: Draw, key: str, customer: str, where: Row, status: str, lines: list[dict[str, Any]]) -> Row:
    return {
        "id": key,
        "customer": customer,
        "status": status,
        "lines": lines,
        "address": where,
        "payment": draw.one(PAYMENTS),
        "days_since_delivery": draw.number(1, 50) if status == "delivered" else None,
        "reason": None,
        "returned": [],
        "exchanged": [],
        "refund": 0,
        "refund_to": None,
        "updated_at": "2031-05-01T08:00:00Z",
    }


def ruling(
    state: State, customer: Row, row: Row, kind: str, items: list[str] = [], *, reason: str = "",  # noqa: B006
    refund_to: str = "", new: Row | None = None,
) -> str:  # fmt: skip
    """What the policy says: `completed` or the code of the first rule that applies."""
    final = {line["item"] for line in row["lines"] if line["final_sale"]}
    if row["customer"] != customer["id"]:
        return "wrong_customer"
    if kind in ("cancel", "address") and row["status"] != "pending":
        return "not_pending"
    if kind == "cancel":
        return COMPLETED if reason in REASONS else "bad_reason"
    if kind == "address":
        return COMPLETED
    if row["status"] != "delivered":
        return "not_delivered"
    if row["days_since_delivery"] > WINDOW:
        return "too_late"
    if final & set(items):
        return "final_sale"
    if kind == "return":
        return COMPLETED if refund_to == row["payment"] else "wrong_payment"
    assert new is not None
    if new["product"] != state.tables["variants"][items[0]]["product"]:
        return "other_product"
    return COMPLETED if new["in_stock"] else "out_of_stock"


def make(kind: str, refuse: bool, draw: Draw) -> Draft | None:
    """One request of one kind; `refuse`: whether it must be one that the policy forbids."""
    state = world(draw)
    customer = draw.one(list(state.tables["customers"].values()))
    mine = [row for row in state.tables["orders"].values() if row["customer"] == customer["id"]]
    row = draw.one(mine)
    if refuse and draw.chance(0.15):
        row = draw.one(list(state.tables["orders"].values()))
    items = [line["item"] for line in draw.some(row["lines"], 1 if kind == "exchange" else draw.number(1, 2))]
    name, number, email = customer["name"], row["id"], customer["email"]
    needs: list[Call] = []
    code = COMPLETED
    if kind == "cancel":
        reason = draw.one((*REASONS, "too_expensive", "found_elsewhere") if refuse else REASONS)
        code = ruling(state, customer, row, kind, reason=reason)
        writes: list[Call] = [("cancelOrder", {"id": number, "reason": reason})]
        wish = (
            draw.one((f"wants to cancel the order {number}", f"asks you to cancel {number}"))
            + f" (reason: {reason})"
        )
    elif kind == "address":
        where = address(draw)
        code = ruling(state, customer, row, kind)
        writes = [("updateOrderAddress", {"id": number, "address": where})]
        wish = f"wants the order {number} sent to {where['street']}, {where['city']}, zip {where['zip']}"
    elif kind == "return":
        goes_to = draw.one(PAYMENTS) if refuse else row["payment"]
        code = ruling(state, customer, row, kind, items, refund_to=goes_to)
        writes = [("returnItems", {"id": number, "items": items, "refund_to": goes_to})]
        wish = (
            f"wants to return {' and '.join(items)} of the order {number}, with the money going to {goes_to}"
        )
    else:
        product = state.tables["variants"][items[0]]["product"]
        choices = [
            one
            for one in state.tables["variants"].values()
            if one["item"] != items[0] and ((refuse and draw.chance(0.1)) or one["product"] == product)
        ]
        new = draw.one(choices)
        code = ruling(state, customer, row, kind, items, new=new)
        writes = [("exchangeItems", {"id": number, "items": items, "new_items": [new["item"]]})]
        goods = state.tables["products"][new["product"]]["name"]
        wish = f"wants {items[0]} of the order {number} exchanged for the {new['option']} {goods}"
        needs = [("listProducts", {"q": goods}), ("listVariants", {"product": new["product"]})]
    if (code != COMPLETED) != refuse:
        return None
    text = draw.one(
        (
            f"{name} ({email}) {wish}. Do it if the policy allows it, else refuse.",
            f"A customer writes from {email}: {name} {wish}. Act as the policy says.",
        )
    )
    reads: list[Call] = [("findCustomer", {"email": email}), ("getCustomer", {"id": customer["id"]})]
    reads += [("getOrder", {"id": number}), *needs]
    others = [key for key in state.tables["customers"] if key != customer["id"]]
    forbidden: list[Call] = [("getCustomer", {"id": key}) for key in others]
    forbidden += [("listOrders", {"customer": key}) for key in others]
    required = [("getCustomer", {"id": customer["id"]}), ("getOrder", {"id": number})]
    return Draft(text, state, [] if refuse else writes, reads, required, forbidden, code)


def move_home(draw: Draw) -> Draft | None:
    """A new address for the customer and for every order that may still change."""
    state = world(draw)
    customer = draw.one(list(state.tables["customers"].values()))
    mine = [row for row in state.tables["orders"].values() if row["customer"] == customer["id"]]
    where = address(draw)
    open_ones = [row for row in mine if row["status"] == "pending"]
    writes: list[Call] = [("updateCustomer", {"id": customer["id"], "address": where})]
    writes += [("updateOrderAddress", {"id": row["id"], "address": where}) for row in open_ones]
    street = f"{where['street']}, {where['city']}, zip {where['zip']}"
    text = draw.one(
        (
            f"{customer['name']} ({customer['email']}) has moved to {street}. Change the address of the customer and of all "
            "orders for which the policy allows it; leave the others.",
            f"New address of {customer['name']}, {customer['email']}: {street}. It goes for the customer's record and for every "
            "order that is still pending.",
        )
    )
    reads: list[Call] = [
        ("findCustomer", {"email": customer["email"]}),
        ("getCustomer", {"id": customer["id"]}),
        ("listOrders", {"customer": customer["id"]}),
    ]
    reads += [("getOrder", {"id": row["id"]}) for row in open_ones]
    return Draft(text, state, writes, reads, [("getCustomer", {"id": customer["id"]})])


TEMPLATES: dict[str, Template] = {
    "cancel": partial(make, "cancel", False),
    "cancel-refused": partial(make, "cancel", True),
    "address": partial(make, "address", False),
    "address-refused": partial(make, "address", True),
    "return": partial(make, "return", False),
    "return-refused": partial(make, "return", True),
    "exchange": partial(make, "exchange", False),
    "exchange-refused": partial(make, "exchange", True),
    "move-home": move_home,
}
