"""The retail back office: customers, products, orders; cancellations, returns, exchanges, addresses.

Invariant: the service keeps its books right (no item is returned twice, nothing out of stock is given out) but leaves the
policy to whoever works with it: what must be refused, it would do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentrl.core.jsonvalues import Schema
from agentrl.envs.api.crud import found
from agentrl.envs.api.document import closed
from agentrl.envs.api.resource import (
    Answer,
    Refusal,
    Resource,
    Special,
    amount,
    component,
    many_of,
    one_of,
    text,
)
from agentrl.envs.api.service import Call, Service
from agentrl.envs.api.state import Row, State

WINDOW = 30  # days
STATUSES = ("pending", "processed", "delivered", "cancelled", "return_requested", "exchange_requested")
REASONS = ("no_longer_needed", "ordered_by_mistake")
POLICY = f"""Policy of the back office
1. Read the customer (getCustomer) and the order (getOrder) before you change the order or refuse. Never look at the record or
   the orders of any other customer. An order that is not the customer's is refused: `wrong_customer`.
2. Cancel only pending orders, else refuse: `not_pending`. The only reasons are {REASONS[0]} and {REASONS[1]}; with
   any other one, refuse: `bad_reason`.
3. The address of an order may change only while it is pending, else refuse: `not_pending`.
4. Return and exchange only items of delivered orders, else refuse: `not_delivered`; and only up to {WINDOW} days after the
   delivery (the order says how many have passed), else refuse: `too_late`.
5. Items that are marked final_sale are neither returned nor exchanged: `final_sale`.
6. Money goes back to the payment method of the order, whatever the customer wishes otherwise: refuse other wishes with
   `wrong_payment`.
7. An item is exchanged for another variant of the same product only, else refuse: `other_product`; and only for one that
   is in stock, else refuse: `out_of_stock`.
8. Refusing means: change nothing and call `done` with the code. The rules are tried in this order; the first one that
   applies gives the code."""
ADDRESS = closed({"street": text(), "city": text(), "zip": text()}, ("street", "city", "zip"))
LINE: Schema = closed(
    {"item": text("Item number."), "price": amount(), "final_sale": {"type": "boolean"}},
    ("item", "price", "final_sale"),
)
ITEMS = many_of(text(), "Item numbers.", least=1)

CUSTOMERS = Resource(
    "customers", "Customer", "id",
    {"id": text("Customer number."), "name": text("Full name."), "email": text("E-mail."), "address": ADDRESS},
    update=("address",), offers=("get",),
)  # fmt: skip
PRODUCTS = Resource(
    "products", "Product", "id", {"id": text("Product number."), "name": text("Name.")}, search=("name",),
)  # fmt: skip
VARIANTS = Resource(
    "variants", "Variant", "item",
    {
        "item": text("Item number."), "product": text("Product number."), "option": text("What makes it different."),
        "price": amount(), "in_stock": {"type": "boolean"},
    },
    filters=("product",), refs={"product": "products"},
)  # fmt: skip
ORDERS = Resource(
    "orders", "Order", "id",
    {
        "id": text("Order number."),
        "customer": text("Customer number."),
        "status": one_of(*STATUSES),
        "lines": {"type": "array", "items": LINE},
        "address": ADDRESS,
        "payment": one_of("card", "paypal", "gift_card"),
        "days_since_delivery": {"type": ["integer", "null"], "minimum": 0},
        "reason": {"type": ["string", "null"], "description": "Why it was cancelled."},
        "returned": many_of(text(), "Items that come back."),
        "exchanged": {"type": "array", "items": closed({"item": text(), "new_item": text()}, ("item", "new_item"))},
        "refund": {**amount("Money that goes back; negative where the customer pays more."), "minimum": -100000},
        "refund_to": {"type": ["string", "null"]},
        "updated_at": text(),
    },
    refs={"customer": "customers"}, volatile=("updated_at",), unordered=("returned", "exchanged"), offers=("get",),
)  # fmt: skip
NOTES = Resource(
    "notes", "Note", "id", {"id": text("Number chosen by the caller."), "order": text(), "body": text()},
    create=("id", "order", "body"), required=("id", "order", "body"), delete=True, refs={"order": "orders"},
)  # fmt: skip


def find_customer(state: State, given: Mapping[str, Any]) -> Answer:
    for row in state.tables["customers"].values():
        if row["email"] == given["email"]:
            return state, 200, {"id": row["id"]}
    raise Refusal(404, "not_found", "there is no customer with this e-mail")


def list_orders(state: State, given: Mapping[str, Any]) -> Answer:
    found(state, CUSTOMERS, given["customer"])
    rows = [row for row in state.tables["orders"].values() if row["customer"] == given["customer"]]
    return state, 200, {"items": [{"id": row["id"], "status": row["status"]} for row in rows]}


def order_in(state: State, given: Mapping[str, Any], *statuses: str) -> Row:
    """Raises: Refusal: no such order, or its status is none of these."""
    row = found(state, ORDERS, given["id"])
    if row["status"] not in statuses:
        raise Refusal(409, "wrong_status", f"the order is {row['status']}")
    return row


def stored(state: State, row: Row, **values: Any) -> Answer:
    new = {**row, **values, "updated_at": state.now}
    return state.put("orders", row["id"], new), 200, new


def price_of(row: Row, items: list[str]) -> float:
    """Raises: Refusal: an item that the order does not have."""
    prices = {line["item"]: line["price"] for line in row["lines"]}
    for item in items:
        if item not in prices:
            raise Refusal(422, "not_in_order", f"the order has no item {item!r:.40}")
    return round(sum(prices[item] for item in items), 2)


def cancel(state: State, given: Mapping[str, Any]) -> Answer:
    row = order_in(state, given, "pending", "processed")
    money = price_of(row, [line["item"] for line in row["lines"]])
    return stored(
        state, row, status="cancelled", reason=given["reason"], refund=money, refund_to=row["payment"]
    )


def return_items(state: State, given: Mapping[str, Any]) -> Answer:
    row = order_in(state, given, "delivered", "processed")
    money = price_of(row, given["items"])
    return stored(
        state,
        row,
        status="return_requested",
        returned=given["items"],
        refund=money,
        refund_to=given["refund_to"],
    )


def exchange(state: State, given: Mapping[str, Any]) -> Answer:
    row = order_in(state, given, "delivered", "processed")
    if len(given["items"]) != len(given["new_items"]):
        raise Refusal(422, "unequal", "items and new_items are pairs: give as many of both")
    money = price_of(row, given["items"])
    for item in given["new_items"]:
        variant = found(state, VARIANTS, item)
        if not variant["in_stock"]:
            raise Refusal(409, "out_of_stock", f"item {item} is out of stock")
        money -= variant["price"]
    pairs = [
        {"item": item, "new_item": new} for item, new in zip(given["items"], given["new_items"], strict=True)
    ]
    return stored(
        state,
        row,
        status="exchange_requested",
        exchanged=pairs,
        refund=round(money, 2),
        refund_to=row["payment"],
    )


def move(state: State, given: Mapping[str, Any]) -> Answer:
    row = order_in(state, given, "pending", "processed")
    return stored(state, row, address=given["address"])


def total(state: State, given: Mapping[str, Any]) -> Answer:
    row = found(state, ORDERS, given["id"])
    return state, 200, {"total": price_of(row, [line["item"] for line in row["lines"]])}


def repair(state: State, goal: State, base: State) -> Iterator[Call]:
    """What leads from an order as it is to an order as it should be; what was requested cannot be taken back."""
    for key, wanted in goal.tables["orders"].items():
        row = state.tables["orders"][key]
        if row is wanted:
            continue
        if row["address"] != wanted["address"]:
            yield "updateOrderAddress", {"id": key, "address": wanted["address"]}
        if row["status"] == wanted["status"]:
            continue
        if wanted["status"] == "cancelled":
            yield "cancelOrder", {"id": key, "reason": wanted["reason"]}
        elif wanted["status"] == "return_requested":
            yield "returnItems", {"id": key, "items": wanted["returned"], "refund_to": wanted["refund_to"]}
        elif wanted["status"] == "exchange_requested":
            items = [pair["item"] for pair in wanted["exchanged"]]
            news = [pair["new_item"] for pair in wanted["exchanged"]]
            yield "exchangeItems", {"id": key, "items": items, "new_items": news}


ID: Mapping[str, tuple[str, Schema]] = {"id": ("path", text("Order number."))}
PAYMENT = one_of("card", "paypal", "gift_card")
ROW = component("Order")
CHANGE = (404, 409, 422)
RETAIL = Service(
    "retail",
    "the back office of a shop",
    "customers and their orders.",
    (CUSTOMERS, PRODUCTS, VARIANTS, ORDERS, NOTES),
    (
        Special("findCustomer", "get", "/customers", "Find a customer by e-mail.", find_customer,
                closed({"id": text()}, ("id",)), {"email": ("query", text("E-mail."))}, required=("email",)),
        Special("listOrders", "get", "/customers/{customer}/orders", "Orders of a customer.", list_orders,
                closed({"items": {"type": "array", "items": closed({"id": text(), "status": one_of(*STATUSES)},
                                                                    ("id", "status"))}}, ("items",)),
                {"customer": ("path", text("Customer number."))}),
        Special("cancelOrder", "post", "/orders/{id}/cancel", "Cancel an order; its money goes back.", cancel, ROW, ID,
                {"reason": text("Why.")}, ("reason",), errors=CHANGE),
        Special("returnItems", "post", "/orders/{id}/return", "Take items of an order back.", return_items, ROW, ID,
                {"items": ITEMS, "refund_to": PAYMENT}, ("items", "refund_to"), errors=CHANGE),
        Special("exchangeItems", "post", "/orders/{id}/exchange", "Exchange items for others, in pairs.", exchange, ROW,
                ID, {"items": ITEMS, "new_items": ITEMS}, ("items", "new_items"), errors=CHANGE),
        Special("updateOrderAddress", "put", "/orders/{id}/address", "Send an order elsewhere.", move, ROW, ID,
                {"address": ADDRESS}, ("address",), errors=CHANGE),
        Special("getTotal", "get", "/orders/{id}/total", "What an order costs.", total,
                closed({"total": amount()}, ("total",)), ID),
    ),
    extra=("getTotal", "listNotes", "createNote", "getNote", "deleteNote", "getProduct"),
    repair=repair,
    policy=POLICY,
)  # fmt: skip
