"""The shop's site over plain HTTP, and in a real Chromium."""

import json
import re
import shutil
import threading
from html import unescape

import httpx
import pytest

import agentrl
from agentrl.check import check_env
from agentrl.core.failures import UserError
from agentrl.core.messages import call, text_of
from agentrl.envs.shop.catalogue import made_shop
from agentrl.envs.shop.goods import KINDS
from agentrl.envs.shop.machine import State, page_of
from agentrl.envs.shop.pages import main_part
from agentrl.envs.shop.pictures import GLYPH_OF, GLYPHS, mixed, picture
from agentrl.envs.shop.records import Product
from agentrl.envs.shop.site import DOORS, Session


@pytest.fixture
def session():
    shop = made_shop(0, 3000)
    site, token = DOORS.enter()
    site.sessions[token] = Session(shop, shop.goal("train", 0))
    with httpx.Client(base_url=f"{site.origin}/{token}/", timeout=10) as client:
        yield site.sessions[token], client
    DOORS.leave(token)


def clickable(html):
    """The labels that a page offers: buttons, radios, links to products."""
    found = re.findall(r'<(?:button|input type="radio") name="target" value="([^"]*)"', html)
    return [unescape(label).lower() for label in (*found, *re.findall(r'data-form="f-(\w+)"', html))]


@pytest.mark.parametrize(
    "state",
    [
        State("results", "running shoes"),
        State("results", "running shoes", 3),
        State("results", "no such thing at all"),
        State("item", "lamp", 1, "FIRST"),
        State("features", "lamp", 1, "FIRST"),
        State("done", "lamp", 1, "FIRST"),
    ],
)
def test_a_page_offers_exactly_what_the_machine_knows(state):
    shop = made_shop(0, 3000)
    if state.asin:
        state = state._replace(asin=shop.products[shop.search("lamp")[0]].asin)
    html = main_part(shop, state, "x")
    assert sorted(clickable(html)) == sorted(page_of(shop, state).labels)


def test_what_is_shown_is_escaped(session):
    customer, client = session
    page = client.post("act", data={"kind": "search", "target": "<script>"}, follow_redirects=True).text
    assert "<script>alert" not in main_part(customer.shop, State(), "<script>alert(1)</script>")
    assert "Total results: 0" in page


def test_a_purchase_over_http_without_scripts(session):
    customer, client = session
    goal = customer.goal
    assert 'name="target" placeholder' in client.get("").text
    for kind, target in (("search", goal.title), ("click", goal.asin), *(("click", v) for v in goal.options)):
        answer = client.post("act", data={"kind": kind, "target": target})
        assert (answer.status_code, answer.headers["location"]) == (303, "./")
    assert client.get("").text.count(" checked") == len(goal.options)
    client.post("act", data={"kind": "click", "target": "buy now"})
    assert customer.state.page == "done"
    assert customer.state.asin == goal.asin


def test_what_cannot_be_done_is_said_on_the_page(session):
    customer, client = session
    client.post("act", data={"kind": "click", "target": "buy now"})
    assert customer.state == State()
    assert "there is no &#x27;buy now&#x27; on this page" in client.get("").text


def test_other_addresses_are_not_found(session):
    _, client = session
    origin = str(client.base_url).split("/", 3)
    root = "/".join(origin[:3])
    for path in ("/", "/other/", f"/{origin[3]}etc", "/../etc/passwd"):
        assert httpx.get(root + path, timeout=10).status_code == 404


def test_the_last_who_leaves_stops_the_server():
    site, first = DOORS.enter()
    again, second = DOORS.enter()
    assert site is again
    DOORS.leave(first)
    assert httpx.get(site.origin, timeout=10).status_code == 404  # it answers
    DOORS.leave(second)
    DOORS.leave(second)
    with pytest.raises(httpx.TransportError):
        httpx.get(site.origin, timeout=10)
    assert not [thread for thread in threading.enumerate() if thread.name == "shop-site"]


def test_every_kind_has_a_picture_and_its_color():
    assert {kind.query for kind in KINDS} == set(GLYPH_OF)
    assert set(GLYPH_OF.values()) == set(GLYPHS)
    product = Product("B1", "Lamp", "", "table lamp", (), 1.0, (), (), (), "")
    assert "#23395d" in picture(product, "navy")
    assert picture(product) == picture(product, "no such color")
    assert mixed("#000000", 255, 0.5) == "#808080"


# -- in a browser --------------------------------------------------------------------------------------

browser = pytest.mark.skipif(
    not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), reason="needs a Chromium"
)


@pytest.fixture(scope="module")
def web():
    pytest.importorskip("playwright")
    env = agentrl.make("ShopWeb-v0")
    yield env
    env.close()


def way(env, seed, split):
    """The states that the expert goes through, and how it ends."""
    env.reset(seed=seed, options={"split": split})
    states, info, total = [env.state], {}, 0.0
    while True:
        _, gain, terminated, truncated, info = env.step(env.expert())
        total += gain
        if env.state != states[-1]:
            states.append(env.state)
        if terminated or truncated:
            return states, total, info["purchase"]


@browser
@pytest.mark.slow
@pytest.mark.web
def test_both_forms_go_through_the_same_states_to_the_same_reward(web):
    text = agentrl.make("Shop-v0")
    for seed, split in ((0, "train"), (1, "test"), (2, "validation")):
        assert way(web, seed, split) == way(text, seed, split)


@browser
@pytest.mark.slow
@pytest.mark.web
def test_typing_and_enter_search_and_a_missing_element_is_an_error(web):
    seen = text_of(web.reset(seed=3)[0])
    field = int(re.search(r'\[(\d+)\]<input type="text"', seen)[1])
    web.step(call("type", id=field, text="table lamp"))
    seen = text_of(web.step(call("press", key="Enter"))[0])
    assert web.state == State("results", "table lamp")
    assert "Total results: 50" in seen
    info = web.step(call("click", id=field))[4]  # it was on the page before
    assert len(info["tool_errors"]) == 1


@browser
@pytest.mark.slow
@pytest.mark.web
def test_nothing_shows_the_goal_and_a_fork_goes_on(web):
    observation, info = web.reset(seed=4)
    assert web.goal.asin not in text_of(observation) + json.dumps(info)
    web.step(web.expert())
    kept, key = web.snapshot(), web.state_key()
    web.step(web.expert())
    web.restore(kept)
    assert web.state_key() == key


@browser
@pytest.mark.slow
@pytest.mark.web
def test_the_rules_hold_in_a_browser():
    report = check_env("agentrl/ShopWeb-v0", seeds=(0, 1))
    assert report.ok, [check for check in report.checks if not check.ok]


def test_wrong_arguments_are_named():
    pytest.importorskip("playwright")
    for arguments in ({"form": "picture"}, {"executable": "/no/such/browser"}, {"products": 3}):
        with pytest.raises(UserError):
            agentrl.make("ShopWeb-v0", **arguments)
