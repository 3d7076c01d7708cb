import itertools
import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentrl
from agentrl.check import check_env
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import call, text_of
from agentrl.envs.shop import catalogue, fuzzy, machine, reward
from agentrl.envs.shop.demonstrate import available
from agentrl.envs.shop.goods import KINDS, OPTIONS
from agentrl.envs.shop.index import WordIndex, words_of
from agentrl.envs.shop.loader import loaded_shop
from agentrl.envs.shop.machine import Act, State, page_of, parse, transition
from agentrl.envs.shop.records import Goal, Option, Product
from agentrl.envs.shop.shelf import Shop

SHOE = Product(
    asin="B000000001",
    title="Tarn Comet Running Shoes, Breathable",
    brand="Tarn",
    query="running shoes",
    path=("Clothing", "Shoes", "Running Shoes"),
    price=40.0,
    options=(
        Option("color", ("navy", "coral"), (0.0, 0.0)),
        Option("size", ("8", "9", "10"), (0.0, 0.0, 5.5)),
    ),
    attributes=("breathable", "light weight", "arch support"),
    features=("Slip resistant: tested for long runs",),
    description="A shoe that dries quickly.",
    rating=4.5,
)
WISH = Goal(
    "i need running shoes",
    "B000000001",
    "running shoes",
    SHOE.path,
    SHOE.title,
    ("light weight", "slip resistant"),
    ("navy", "10"),
    50.0,
)


def changed(record, **fields):
    names = [name for name in record.__slots__ if name not in fields]
    return type(record)(**{name: getattr(record, name) for name in names}, **fields)


def play(env, seed, player, split="train"):
    env.reset(seed=seed, options={"split": split})
    total = 0.0
    while True:
        _, gain, terminated, truncated, info = env.step(player(env))
        total += gain
        if terminated or truncated:
            return total, info


# -- the reward ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        ("light weight", "weight light", 100),  # the same words
        ("cool powder snow", "powder snow", 100),  # one has all of the other's
        ("large", "x-large", 100),  # so the rule cannot tell these apart
        ("abcd", "abcf", 75),  # 2 * 3 / 8
        ("3ft", "6ft", 67),  # 2 * 2 / 6
        (
            "twin pack",
            "six pack",
            71,
        ),  # pack six, pack twin: 2 * 6 / 17, more than pack, pack six: 2 * 4 / 12
        ("12 pack", "1 pack", 92),  # pack 12, pack 1: 2 * 6 / 13
        ("", "light", 0),
        ("!!", "!!", 0),
    ],
)
def test_token_set_ratio_by_hand(one, other, score):
    assert fuzzy.token_set_ratio(one, other) == score
    assert fuzzy.token_set_ratio(other, one) == score


@given(st.text("ab cd", max_size=9), st.text("ab cd", max_size=9))
@settings(max_examples=150, deadline=None)
def test_the_common_length_is_that_of_the_table(one, other):
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, j in itertools.product(range(len(one)), range(len(other))):
        same = table[i][j] + 1 if one[i] == other[j] else 0
        table[i + 1][j + 1] = max(same, table[i][j + 1], table[i + 1][j])
    assert fuzzy.common_length(one, other) == table[-1][-1]


def test_colors_are_compared_by_their_base():
    assert fuzzy.same_choice("dark blue", "blue")
    assert not fuzzy.same_choice("navy", "blue")
    assert fuzzy.base_color("predator red") == "red"
    assert fuzzy.base_color("tired") == "tired"  # no color within a word


def test_a_purchase_of_all_that_was_asked_for_earns_one():
    # Two attributes (one of the list, one of the features), two options, 45.50 of 50 dollars: 5 of 5.
    judged = reward.judge(SHOE, {"color": "navy", "size": "10"}, WISH)
    assert (judged.reward, judged.type, judged.attributes, judged.options, judged.price) == (1, 1, 2, 2, True)


def test_what_is_missing_costs_its_share():
    assert reward.judge(SHOE, {}, WISH).reward == 3 / 5
    assert reward.judge(SHOE, {"color": "coral", "size": "10"}, WISH).reward == 4 / 5
    dear = changed(WISH, price_upper=45.0)
    assert reward.judge(SHOE, {"color": "navy", "size": "10"}, dear).reward == 4 / 5  # 45.50 is too much
    more = changed(WISH, attributes=("light weight", "vegan leather", "steel toe"))
    assert reward.judge(SHOE, {"color": "navy", "size": "10"}, more).reward == 4 / 6


def test_another_kind_of_product_costs_a_factor():
    goal = changed(WISH, title="tarn comet stove lantern kettle tripod candle wick bench lamp")  # 10 nouns
    other = changed(SHOE, query="lamps", path=("Home", "Light", "Lamps"))
    chosen = {"color": "navy", "size": "10"}
    # 2 of 10 nouns: not more than a fifth, another query, no common departments.
    assert reward.title_score(other.title, goal.title) == 0.2
    assert reward.judge(other, chosen, goal).type == 0.5
    assert reward.judge(SHOE, chosen, goal).type == 1.0  # the same query
    assert reward.judge(changed(other, path=("Clothing", "Shoes", "Sandals")), chosen, goal).type == 1.0
    eleven = changed(goal, title="comet stove lantern kettle tripod candle wick bench lamp table chair")
    assert reward.judge(SHOE, chosen, eleven).type == 0.1  # 1 of 11, whatever the query
    assert reward.judge(SHOE, chosen, changed(goal, title="stove lantern")).reward == 0.0
    assert (
        reward.judge(other, chosen, changed(goal, title="of the 12")).type == 0.5
    )  # no nouns: counts as a fifth


def test_nouns_of_a_title():
    assert reward.nouns("Tarn 2-Pack Durable Dark Blue Cable for the Table") == (
        "tarn",
        "pack",
        "dark",
        "cable",
        "table",
    )


def test_attributes_are_found_in_the_texts_literally():
    assert reward.has_attribute(SHOE, "dries quickly")
    assert reward.has_attribute(SHOE, "weight light")
    assert not reward.has_attribute(SHOE, "waterproof")


# -- the catalogue -------------------------------------------------------------------------------------


def test_nothing_of_one_kind_is_taken_for_another():
    for kind in KINDS:
        pairs = itertools.combinations(kind.attributes, 2)
        assert not [pair for pair in pairs if fuzzy.similar(*pair)], kind.query
        values = [value for name in kind.options for value in OPTIONS[name][1]]
        assert not [pair for pair in itertools.combinations(values, 2) if fuzzy.same_choice(*pair)], (
            kind.query
        )
    assert len({kind.query for kind in KINDS}) == len(KINDS) == 54
    assert all(len(kind.attributes) >= 5 and len(kind.uses) == 3 and len(kind.path) == 3 for kind in KINDS)


def test_products_are_different_and_a_bigger_catalogue_begins_alike():
    some, more = catalogue.made_products(3, 300), catalogue.made_products(3, 600)
    fields = list(SHOE.__slots__)
    assert all(
        getattr(a, name) == getattr(b, name) for a, b in zip(some, more, strict=False) for name in fields
    )
    assert len({product.asin for product in more}) == len({product.title for product in more}) == 600
    assert all(len(product.asin) == 10 and product.options and product.price > 0 for product in more)
    assert some[0].title != catalogue.made_products(4, 200)[0].title


def test_the_catalogue_is_the_same_in_another_process():
    code = (
        "from agentrl.envs.shop.catalogue import *;import hashlib;"
        "s=made_shop(0,300);print(hashlib.md5(repr(s.products).encode()).hexdigest(), s.goal('test',5).instruction)"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_prices_follow_the_options():
    assert SHOE.price_of({"size": "10"}) == 45.5
    assert SHOE.price_text({}) == "$40.00 to $45.50"
    assert SHOE.price_text({"size": "8"}) == "$40.00"


def test_splits_share_neither_products_nor_wishes():
    shop = catalogue.made_shop(0, 3000)
    goals = {
        split: [shop.goal(split, seed) for seed in range(300)] for split in ("train", "validation", "test")
    }
    for one, other in itertools.combinations(goals, 2):
        for key in (
            lambda goal: goal.asin,
            lambda goal: (goal.query, frozenset(goal.attributes), frozenset(goal.options)),
            lambda goal: goal.instruction,
        ):
            assert not {key(goal) for goal in goals[one]} & {key(goal) for goal in goals[other]}


def test_an_instruction_says_all_that_is_wanted():
    shop = catalogue.made_shop(0, 3000)
    for seed in range(200):
        goal = shop.goal("train", seed)
        words = (goal.query, *goal.attributes, *goal.options, f"{goal.price_upper:.2f} dollars")
        assert all(word in goal.instruction for word in words)
        assert goal.options
        assert goal.asin not in goal.instruction
    openings = {" ".join(shop.goal("train", seed).instruction.split()[:3]) for seed in range(200)}
    assert len(openings) > 8


# -- search and pages ----------------------------------------------------------------------------------


def test_bm25_by_hand():
    index = WordIndex([("lamp", ""), ("", "lamp shade red"), ("", "blue towels")])
    # Lengths 2 (titles count twice), 3, 2; mean 7/3; the word is in two of three documents: ln(1 + 1.5/2.5).
    assert index.search("the LAMP", 5) == (0, 1)
    assert index.search("towel shade", 5) == (2, 1)  # equally rare, and the shorter document wins
    assert index.search("lamp", 1) == (0,)
    assert index.search("nothing of it", 5) == index.search("", 5) == index.search("lamp", 0) == ()
    assert words_of("Café Bottles, of glass") == ["cafe", "bottle", "glass"]


def test_equal_scores_are_in_order_and_the_cut_keeps_the_first():
    index = WordIndex([("", "red hat")] * 80)
    assert index.search("hat", 50) == tuple(range(50))


@pytest.fixture(scope="module")
def shop():
    return catalogue.made_shop(0, 3000)


def test_a_way_through_the_pages(shop):
    state = transition(shop, State(), Act("search", "  Running   SHOES "))
    assert state == State("results", "running shoes", 1)
    page = page_of(shop, state)
    assert page.lines[:3] == (
        ("button", "Back to Search"),
        ("text", "Page 1 (Total results: 50)"),
        ("button", "Next >"),
    )
    assert len(page.labels) == 12
    second = transition(shop, state, Act("click", "next >"))
    assert second.number == 2
    assert transition(shop, second, Act("click", "< Prev")) == state
    item = transition(shop, state, Act("click", page.labels[2]))
    product = shop.product(item.asin)
    assert (item.page, item.opened) == ("item", (product.asin,))
    size = product.options[1].values[0]
    chosen = transition(shop, item, Act("click", size))
    assert chosen.chosen == (("size", size),)
    both = transition(shop, chosen, Act("click", product.options[0].values[1].upper()))
    assert both.chosen == (("color", product.options[0].values[1]), ("size", size))
    sub = transition(shop, both, Act("click", "Features"))
    assert [words for _, words in page_of(shop, sub).lines[2:]] == list(product.features)
    assert transition(shop, sub, Act("click", "< prev")) == both
    back = transition(shop, both, Act("click", "< prev"))
    assert (back.page, back.opened, back.chosen) == ("results", (product.asin,), ())
    assert ("opened", product.asin) in page_of(shop, back).lines
    assert transition(shop, both, Act("click", "Buy Now")).page == "done"
    assert transition(shop, both, Act("click", "Back to Search")) == State()


def test_the_last_page_of_results_has_no_next(shop):
    last = State("results", "running shoes", 5)
    assert page_of(shop, last).labels[:2] == ("back to search", "< prev")
    with pytest.raises(ToolError, match="next >"):
        transition(shop, last, Act("click", "Next >"))


@pytest.mark.parametrize(
    ("state", "act"),
    [
        (State(), Act("click", "search")),
        (State(), Act("search", "  ")),
        (State(), Act("search", "x" * 301)),
        (State("results", "lamp"), Act("search", "lamp")),
        (State("results", "lamp"), Act("click", "buy now")),
        (State("done"), Act("click", "back to search")),
    ],
)
def test_what_is_not_on_the_page_is_an_error_of_the_policy(shop, state, act):
    with pytest.raises(ToolError):
        transition(shop, state, act)


def test_only_products_of_this_page_can_be_opened(shop):
    found = shop.search("lamp")
    there = shop.products[found[12]].asin
    with pytest.raises(ToolError):
        transition(shop, State("results", "lamp"), Act("click", there))
    assert transition(shop, State("results", "lamp", 2), Act("click", there)).asin == there


@given(st.integers(0, 10_000), st.lists(st.integers(0, 60), max_size=12))
@settings(max_examples=60, deadline=None)
def test_every_label_of_every_page_leads_somewhere(shop, seed, picks):
    state = transition(shop, State(), Act("search", KINDS[seed % len(KINDS)].query))
    for pick in picks:
        labels = available(shop, state)
        for label in labels:
            page_of(shop, transition(shop, state, Act("click", label)))
        if not labels:
            break
        state = transition(shop, state, Act("click", labels[pick % len(labels)]))


def test_equal_values_of_two_options_get_labels_of_their_own():
    both = changed(SHOE, options=(Option("top", ("red", "features"), (0, 0)), Option("sole", ("red",), (0,))))
    assert list(machine.choices(both)) == ["red", "top: features", "sole: red"]


def test_texts_are_parsed():
    assert parse("I think so.\nAction: search[red [big] hat]") == Act("search", "red [big] hat")
    assert parse("click[< Prev]") == Act("click", "< Prev")
    assert parse("search[a]\nclick[b].") == Act("click", "b")
    for text in ("", "buy it", "search hat", "think[hat]"):
        with pytest.raises(ToolError):
            parse(text)


# -- the environment -----------------------------------------------------------------------------------


@pytest.mark.parametrize("actions", ["tools", "text", "both"])
def test_the_expert_solves_every_split_however_one_acts(actions):
    env = agentrl.make("Shop-v0", actions=actions)
    for split in env.splits:
        ends = [play(env, seed, lambda env: env.expert(), split) for seed in range(60)]
        assert all(total == 1.0 and info["success"] for total, info in ends)
        assert not any(info["tool_errors"] for _, info in ends)


def test_the_expert_solves_it_from_wherever_one_has_got_to():
    env = agentrl.make("Shop-v0", max_turns=60)
    for seed in range(60):
        env.reset(seed=seed)
        env.step(env.expert())
        for _ in range(10):
            labels = [label for label in available(env.shop, env.state) if label != "buy now"]
            action = call("click", target=str(env.np_random.choice(labels))) if labels else env.hasty_expert()
            env.step(action)
        while True:
            *_, terminated, truncated, info = env.step(env.expert())
            if terminated or truncated:
                break
        assert info["success"], seed


def test_haste_does_not_succeed():
    env = agentrl.make("Shop-v0")
    ends = [play(env, seed, lambda env: env.hasty_expert()) for seed in range(100)]
    assert sum(info["success"] for _, info in ends) == 0
    assert 0.3 < sum(total for total, _ in ends) / 100 < 0.8  # but the reward is partial


def test_a_product_that_was_never_found_does_not_show_the_goal():
    env = agentrl.make("Shop-v0", list_actions=True)
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        goal = env.goal
        assert goal.asin not in text_of(observation) + json.dumps(info)
        assert goal.title not in text_of(observation)


def test_the_two_styles():
    rich, simple = (agentrl.make("Shop-v0", observation=style) for style in ("rich", "simple"))
    for env in (rich, simple):
        env.reset(seed=0)
    search = call("search", query="running shoes")
    assert (
        "\n[button] Back to Search [button_]\nPage 1 (Total results: 50)\n[button] Next > [button_]"
        in text_of(rich.step(search)[0])
    )
    text = text_of(simple.step(search)[0])
    assert text.startswith("Instruction: [SEP] ")
    assert " [SEP] Back to Search [SEP] Page 1 (Total results: 50) [SEP] Next > [SEP] B" in text


def test_available_actions_are_listed():
    env = agentrl.make("Shop-v0", list_actions=True)
    assert text_of(env.reset(seed=0)[0]).endswith("\nAvailable actions: search[<words>]")
    shown = text_of(env.step(call("search", query="lamp"))[0])
    assert "Available actions: click[back to search], click[next >], click[b" in shown


def test_text_actions_act_only_where_they_may():
    env = agentrl.make("Shop-v0", actions="tools")
    env.reset(seed=0)
    assert env.step("search[lamp]")[4]["tool_errors"][0]["kind"] == "no_tool_call"
    env = agentrl.make("Shop-v0", actions="text")
    assert env.tools == ()
    env.reset(seed=0)
    assert env.step("search[lamp]")[4]["tool_errors"] == []
    assert env.state == State("results", "lamp")


@pytest.mark.parametrize(
    "arguments",
    [
        {"products": 10},
        {"products": True},
        {"products": "no/such.json"},
        {"goals": "some.json"},
        {"actions": "mouse"},
        {"observation": "html"},
        {"max_turns": 0},
        {"split": "dev"},
    ],
)
def test_wrong_arguments_are_named(arguments):
    with pytest.raises(UserError):
        agentrl.make("Shop-v0", **arguments)


def test_a_small_shop_is_cached_and_has_goals():
    env = agentrl.make("Shop-v0", products=200, catalogue_seed=7)
    assert env.shop is agentrl.make("Shop-v0", products=200, catalogue_seed=7).shop
    assert play(env, 0, lambda env: env.expert(), "test")[1]["success"]


@pytest.mark.slow
def test_the_rules_hold():
    report = check_env("agentrl/Shop-v0")
    assert report.ok, [check for check in report.checks if not check.ok]
    assert check_env("agentrl/Shop-v0", kwargs={"actions": "text", "observation": "simple"}).ok


# -- files in WebShop's format -------------------------------------------------------------------------

ITEM = {
    "name": "Tarn Comet Running Shoes",
    "asin": "B0AAAAAAAA",
    "category": "fashion",
    "query": "Running Shoes ",
    "product_category": "Clothing › Shoes › Running",
    "pricing": "$20.00$30.00",
    "customization_options": {
        "Color": [{"value": "Navy/White", "image": None}, {"value": "coral"}],
        "Size": None,
    },
    "small_description": ["Slip resistant sole"],
    "full_description": "Dries quickly.",
    "images": ["none.jpg"],
}
HUMAN = {
    "B0AAAAAAAA": [
        {
            "instruction": "i need slip resistant running shoes in coral.",
            "instruction_attributes": ["slip resistant"],
            "instruction_options": ["coral"],
        },
        {"instruction": "anything", "instruction_attributes": [], "instruction_options": []},
    ],
    "B0GONE": [{"instruction": "x", "instruction_attributes": ["y"], "instruction_options": []}],
}


def write(folder, items, goals, name="items_human_ins.json"):
    (folder / "items_shuffle.json").write_text(json.dumps(items))
    (folder / name).write_text(json.dumps(goals))
    return str(folder / "items_shuffle.json")


def split_with_goals(shop):
    for split in ("train", "validation", "test"):
        try:
            return split, shop.goal(split, 0)
        except UserError:
            continue
    raise AssertionError("no split has a goal")


def test_human_goals_are_read(tmp_path):
    shop = loaded_shop(write(tmp_path, [ITEM, ITEM], HUMAN), None)
    (product,) = shop.products
    assert (product.query, product.price, product.price_tag) == ("running shoes", 25.0, "$20.00 to $30.00")
    assert product.path == ("Clothing", "Shoes", "Running")
    assert product.options == (Option("color", ("navy | white", "coral"), (0.0, 0.0)),)
    _, goal = split_with_goals(shop)
    assert goal.instruction.startswith("i need slip resistant running shoes in coral, and price lower than ")
    assert goal.options == ("coral",)
    assert goal.price_upper in (40.0, 50.0, 60.0)  # the larger of two of 30, 40, 50, 60


def test_a_task_of_a_file_is_played(tmp_path):
    path = write(tmp_path, [ITEM], HUMAN)
    split, _ = split_with_goals(loaded_shop(path, None))
    env = agentrl.make("Shop-v0", products=path, split=split)
    assert play(env, 0, lambda env: env.expert(), split)[1]["success"]


def test_synthetic_goals_are_read(tmp_path):
    goals = {
        "B0AAAAAAAA": {
            "attributes": ["slip resistant", "light"],
            "instruction": "find me light running shoes",
            "instruction_attributes": ["light"],
        }
    }
    path = write(tmp_path, [ITEM], goals, "ins.json")
    shop = loaded_shop(path, str(tmp_path / "ins.json"))
    assert shop.products[0].attributes == ("slip resistant", "light")
    split, _ = split_with_goals(shop)
    found = {shop.goal(split, seed).instruction.split(", and price")[0] for seed in range(2)}
    assert found == {
        "find me light running shoes with color: navy | white",
        "find me light running shoes with color: coral",
    }


@pytest.mark.parametrize(
    ("items", "goals", "named"),
    [
        ([ITEM, {**ITEM, "asin": "B1", "name": None}], HUMAN, r"items_shuffle.json\[1\]: name"),
        ([{**ITEM, "pricing": "free"}], HUMAN, r"\[0\]: pricing"),
        ([{**ITEM, "customization_options": {"color": ["red"]}}], HUMAN, r"\[0\]: option 'color'"),
        (["shoe"], HUMAN, r"\[0\]: a product is an object"),
        ([], HUMAN, "no products"),
        ({}, HUMAN, "a list of products"),
        ([ITEM], {"B0AAAAAAAA": [{"instruction": "x"}]}, r"B0AAAAAAAA'\]\[0\]: instruction_attributes"),
        ([ITEM], {"B0AAAAAAAA": 3}, "a goal is an object or a list"),
        ([ITEM], {"other": []}, "no goal is about"),
    ],
)
def test_a_broken_record_is_named(tmp_path, items, goals, named):
    with pytest.raises(UserError, match=named):
        loaded_shop(write(tmp_path, items, goals), None)


def test_missing_and_unreadable_files_are_named(tmp_path):
    (tmp_path / "items.json").write_text("[")
    with pytest.raises(UserError, match="no goals for"):
        loaded_shop(str(tmp_path / "items.json"), None)
    (tmp_path / "items_human_ins.json").write_text("{}")
    with pytest.raises(UserError, match=r"items\.json: no JSON"):
        loaded_shop(str(tmp_path / "items.json"), None)


def test_more_products_are_searched_by_the_other_engine(monkeypatch, shop):
    monkeypatch.setattr("agentrl.envs.shop.shelf.DENSE", 10)
    big = Shop(shop.products, catalogue.made_goals)
    found = {big.products[place].query for place in big.search("running shoes")[:10]}
    assert found == {"running shoes"}
    assert big.goal("train", 0).asin in big.by_asin
