"""Experts of the tasks that are solved by clicking the right things."""

from __future__ import annotations

from agentrl.core.messages import Action, call
from agentrl.envs.web.miniwob.sight import Sight, click


def click_named(sight: Sight) -> Action:
    """Click on the "okay" button."""
    (name,) = sight.said(r'"(.*)"')
    return click(sight.one("button", text=name))


def click_one(sight: Sight) -> Action:
    """Click button ONE."""
    (name,) = sight.said(r"button (\w+)\.")
    return click(sight.one("button", text=name))


def click_sequence(sight: Sight) -> Action:
    """ONE, then TWO: the one clicked last has the focus."""
    first = sight.one("button", text="ONE")
    return click(sight.one("button", text="TWO") if first.get("focused") else first)


def click_link(sight: Sight) -> Action:
    """Click on the link "foo": links are spans of a text."""
    (name,) = sight.said(r'"(.*)"')
    return click(sight.one("span", text=name))


def click_dialog(sight: Sight) -> Action:
    return click(sight.one("button", text="Close"))


def click_dialog_2(sight: Sight) -> Action:
    (name,) = sight.said(r'labeled "(.*)"')
    return click(sight.one("button", text="Close" if name == "x" else name))


def click_tab(sight: Sight) -> Action:
    (name,) = sight.said(r"Click on (.*)\.")
    return click(sight.one("a", text=name))


def click_tab_2(sight: Sight) -> Action:
    """Look through the tabs in turn, from the one that is open."""
    (name,) = sight.said(r'the link "(.*)"\.')
    if found := sight.all("span", text=name):
        return click(found[0])
    tabs = [item for item in sight.all("li") if item.role == "tab"]
    here = next((at for at, tab in enumerate(tabs) if tab.get("selected")), -1)
    wanted = tabs[(here + 1) % len(tabs)]
    return click(sight.one("a", text=wanted.label or wanted.text))


def sections(sight: Sight) -> list[int]:
    """Places of the headers of an accordion in the list."""
    return [
        at for at, item in enumerate(sight.items) if item.tag == "h3" and item.get("expanded") is not None
    ]


def click_collapsible(sight: Sight) -> Action:
    header = next(item for item in sight.items if item.tag == "h3")
    return sight.submit() if header.get("expanded") else click(header)


def click_collapsible_2(sight: Sight) -> Action:
    (name,) = sight.said(r'the link "(.*)"\.')
    if found := sight.all("span", text=name):
        return click(found[0])
    headers = [sight.items[at] for at in sections(sight)]
    here = next((at for at, header in enumerate(headers) if header.get("expanded")), -1)
    return click(headers[(here + 1) % len(headers)])


def click_menu(sight: Sight) -> Action:
    """Select A>B>C: the mouse over A opens it; only C is clicked."""
    (path,) = sight.said(r"Select (.*)")
    names = path.split(">")
    for name in reversed(names):
        if found := [item for item in sight.items if item.text == name]:
            return click(found[-1]) if name == names[-1] else call("hover", id=found[-1].id)
    raise LookupError(f"nothing of {path!r} is shown")


def click_test(sight: Sight) -> Action:
    return click(sight.one("button"))


def click_widget(sight: Sight) -> Action:
    (kind,) = sight.said(r'"(\w+)"')
    if kind in ("button", "textarea"):
        return click(sight.one(kind))
    return click(sight.inputs(kind)[0])


def focus(sight: Sight) -> Action:
    if "Focus into the textbox" in sight.asked:
        return click(sight.fields()[0])
    (place,) = sight.said(r"the (\d)")
    return click(sight.fields()[int(place) - 1])


def navigate_tree(sight: Sight) -> Action:
    """Open the folders that are shut, in order, until the name is seen."""
    (name,) = sight.said(r'named "(.*)"')
    if found := sight.all("span", text=name):
        return click(found[0])
    return click(next(item for item in sight.items if "expandable-hitarea" in item.name))


def social_media(sight: Sight) -> Action:
    """Reply, Retweet and Like are icons; the rest is in a menu."""
    user, what = sight.said(r'user (@\S+), click on the "(.*)" button')
    start = next(at for at, item in enumerate(sight.items) if item.text == user)
    rest = sight.items[start:]
    icon = {"Reply": "reply", "Retweet": "retweet", "Like": "like"}.get(what)
    if icon:
        return click(next(item for item in rest if item.name.split()[:1] == [icon]))
    menu = [item for item in rest if item.tag == "li" and item.text.startswith(what)]
    return click(menu[0] if menu else next(item for item in rest if item.name.split()[:1] == ["more"]))


def ascending(sight: Sight) -> Action:
    """The numbers hide once the first was clicked; the boxes stay in order."""
    return click(sight.one("text", text="1") if sight.all("text") else sight.one("rect"))


EXPERTS = {
    "click-button": click_named,
    "unicode-test": click_named,
    "click-test-2": click_one,
    "click-test-transfer": click_one,
    "click-button-sequence": click_sequence,
    "click-test": click_test,
    "click-link": click_link,
    "click-dialog": click_dialog,
    "click-dialog-2": click_dialog_2,
    "click-tab": click_tab,
    "click-tab-2": click_tab_2,
    "click-tab-2-easy": click_tab_2,
    "click-tab-2-medium": click_tab_2,
    "click-tab-2-hard": click_tab_2,
    "click-collapsible": click_collapsible,
    "click-collapsible-nodelay": click_collapsible,
    "click-collapsible-2": click_collapsible_2,
    "click-collapsible-2-nodelay": click_collapsible_2,
    "click-menu": click_menu,
    "click-widget": click_widget,
    "focus-text": focus,
    "focus-text-2": focus,
    "navigate-tree": navigate_tree,
    "social-media": social_media,
    "ascending-numbers": ascending,
}
