"""The browser layer and MiniWoB++: in a real Chromium, or skipped."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure, UserError
from agentrl.core.messages import call, text_of
from agentrl.envs.web.browser import find_chromium, reap
from agentrl.envs.web.miniwob.experts.figures import fits
from agentrl.envs.web.miniwob.experts.forms import minutes, similar
from agentrl.envs.web.observe import Item, View, render, short_color


def missing():
    try:
        import playwright  # noqa: F401

        find_chromium()
        from agentrl.envs.web.miniwob.sites import pages_folder

        pages_folder()
    except (ImportError, UserError) as error:
        return str(error)
    return ""


WHY = missing()
needs_browser = [pytest.mark.web, pytest.mark.skipif(bool(WHY), reason=f"no browser: {WHY}")]


def web(test):
    for mark in needs_browser:
        test = mark(test)
    return test


@pytest.fixture
def make():
    """Environments that are closed at the end."""
    from agentrl.envs.web.miniwob.env import MiniWobEnv

    made = []

    def one(*tasks, **kwargs):
        made.append(MiniWobEnv(tasks=tasks or ("expert",), **kwargs))
        return made[-1]

    yield one
    for env in made:
        env.close()


def processes(marker):
    """Process ids whose environment names this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def until(check, seconds=15.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.1)
    return False


# -- without a browser -----------------------------------------------------------------------------


def item(id=1, tag="button", text="", **rest):
    return Item.of({"id": id, "tag": tag, "text": text, **rest})


def test_an_element_is_one_line():
    view = View(
        (
            item(3, text="Submit", role="button"),
            item(4, "input", type="checkbox", checked=True, label="red"),
            Item(None, "", "some words"),
            item(5, "circle", role="graphic", x=10, y=20, w=8, h=8, color="rgb(0, 0, 255)"),
        ),
        left=7,
    )
    assert render(view).splitlines() == [
        "[3]<button>Submit</button>",
        '[4]<input type="checkbox" checked label="red">',
        "some words",
        "[5]<circle at=10,20 size=8x8 color=#0000ff>",
        "... 7 more elements were left out",
    ]
    assert render(view, "tree").splitlines()[0] == "- button 'Submit' [3]"
    assert render(View()) == "(the page is empty)"


def test_colours_and_words_of_the_experts():
    assert short_color("rgb(255, 0, 16)") == "#ff0010"
    assert minutes("16h 5m") == 965
    assert "gleeful" in similar("happy")
    assert similar("unheard") == ("unheard",)
    red = item(1, "circle", role="graphic", h=20, color="rgb(255, 0, 0)")
    assert fits(red, "large red circle")
    assert not fits(red, "small red circle")
    assert not fits(red, "digit")
    assert fits(item(2, "text", "5", h=11, size=10, color="rgb(0, 0, 0)"), "small 5")


def test_a_browser_that_is_not_there_is_the_users_error(monkeypatch):
    with pytest.raises(UserError, match="apt-get install chromium"):
        find_chromium("/nowhere/chromium")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("AGENTRL_CHROMIUM", raising=False)
    with pytest.raises(UserError, match="apt-get install chromium"):
        find_chromium()


def test_profiles_of_dead_browsers_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone, kept = tmp_path / "playwright_chromiumdev_profile-a", tmp_path / "playwright_chromiumdev_profile-b"
    gone.mkdir()
    kept.mkdir()
    os.utime(gone, (1, 1))
    assert reap() == [gone]
    assert kept.is_dir()


# -- MiniWoB++ -------------------------------------------------------------------------------------


@web
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tasks": "click-buton"}, "did you mean 'click-button'"),
        ({"tasks": []}, "tasks must name"),
        ({"form": "html"}, "form must be"),
        ({"executable": "/nowhere/chromium"}, "apt-get install chromium"),
    ],
)
def test_bad_arguments(arguments, message):
    from agentrl.envs.web.miniwob.env import MiniWobEnv

    with pytest.raises(UserError, match=message):
        MiniWobEnv(**arguments)


@web
def test_a_login_by_hand(make):
    env = make("login-user")
    first = text_of(env.reset(seed=3)[0])
    assert "[2]<input" in first
    user, password = env.utterance.split('"')[1::2]
    shown, *_ = env.step(call("type", id=2, text=user))
    assert f'value="{user}"' in text_of(shown)
    env.step(call("type", id=4, text=password))
    _, reward, terminated, _, info = env.step(call("click", id=5))
    assert (reward, terminated, info["success"]) == (1.0, True, True)


@web
def test_a_wrong_login_earns_nothing(make):
    env = make("login-user")
    env.reset(seed=3)
    _, reward, terminated, _, info = env.step(call("click", id=5))
    assert (reward, terminated, info["success"]) == (0.0, True, False)


@web
@pytest.mark.parametrize(
    ("action", "message"),
    [
        (call("click", id=99), "there is no element [99]"),
        (call("type", id=5, text="x"), "not a text field"),
        (call("type", id=2, text="x" * 501), "too long"),
        (call("select", id=2, option="x"), "not a select"),
        (call("press", key="Hyper+Z"), "no such key"),
        (call("scroll", direction="down", id=2), "does not scroll"),
        (call("click_at", x=1000, y=0), "outside of the page"),
        (call("wait", ms=10**6), "0 to 10000"),
    ],
)
def test_wrong_moves_are_answered(make, action, message):
    env = make("login-user")
    env.reset(seed=3)
    shown, _, terminated, _, info = env.step(action)
    assert message in text_of(shown)
    assert not terminated
    assert len(info["tool_errors"]) == 1


@web
def test_time_passes_only_by_actions(make):
    env = make("button-delay")
    env.reset(seed=1)
    wait = int(env.utterance.split("wait ")[1][0])
    env.step(call("click", id=1))
    time.sleep(0.5)
    env.step(call("wait", ms=1000 * wait - 500))
    _, reward, terminated, _, _ = env.step(call("click", id=2))
    assert (reward, terminated) == (1.0, True)


@web
def test_a_seed_and_a_path_mean_the_same_pages(make):
    env = make("click-tab-2-hard", "email-inbox", "use-autocomplete", "chase-circle")
    for seed in range(8):
        texts = []
        for _ in range(2):
            shown = [text_of(env.reset(seed=seed)[0])]
            for id in (1, 2, 3):
                shown.append(text_of(env.step(call("click", id=id))[0]) if not env._over else "")
            texts.append(shown)
        assert texts[0] == texts[1]


@web
def test_a_fork_goes_on_in_another_instance(make):
    one, other = make("enter-password"), make("enter-password")
    one.reset(seed=5)
    one.step(one.expert())
    other.restore(one.snapshot())
    assert other.state_key() == one.state_key()
    other.step(other.expert())
    assert other.step(other.expert())[4]["success"]


@web
def test_splits_are_seeded_differently(make):
    env = make("click-tab-2-hard")  # long texts: two that are equal are the same page
    seen = {}
    for split in env.splits:
        seen[split] = {text_of(env.reset(seed=seed, options={"split": split})[0]) for seed in range(12)}
    assert len(set().union(*seen.values())) == sum(map(len, seen.values()))


@web
def test_both_forms_show_the_same_elements(make):
    dom, tree = make("email-inbox"), make("email-inbox", form="tree")
    a, b = text_of(dom.reset(seed=2)[0]), text_of(tree.reset(seed=2)[0])
    assert a != b
    assert dom.view == tree.view


@web
def test_dialogs_are_dismissed_and_told(make):
    env = make("click-test")
    env.reset(seed=1)
    on_page(env, "document.querySelector('#subbtn').onmousedown = () => alert('are you there?')")
    shown, *_ = env.step(call("click", id=1))
    assert "dialog: alert: are you there?" in text_of(shown)


@web
def test_no_page_reaches_the_network(make):
    env = make("click-test")
    env.reset(seed=1)
    code = "fetch('http://127.0.0.1:9/').then(() => 'reached', () => 'refused')"
    assert on_page(env, code) == "refused"
    assert on_page(env, "navigator.onLine") is False


@web
def test_every_expert_solves_its_task(make):
    env = make()
    for seed in range(len(env.tasks)):
        env.reset(seed=seed)
        ended = False
        while not ended:
            _, _, terminated, truncated, info = env.step(env.expert())
            ended = terminated or truncated
        assert info["success"], (env.name, env.utterance)


@web
@pytest.mark.slow
def test_every_task_resets_steps_and_is_what_its_seed_says(make):
    env = make("all")
    assert len(env.tasks) >= 110
    varied = 0
    for name in env.tasks:
        env.tasks = (name,)
        first, again, other = (text_of(env.reset(seed=seed)[0]) for seed in (1, 1, 2))
        assert first == again, name
        varied += first != other
        env.step(call("click", id=1))
    assert varied >= 100


@web
@pytest.mark.slow
def test_the_rules_hold():
    from agentrl.check import check_env

    report = check_env("agentrl/MiniWoB-v0")
    assert report.ok, [check for check in report.checks if not check.ok]


# -- when things break -----------------------------------------------------------------------------


def on_page(env, code):
    """Run code in the page of an environment that is used by its synchronous face."""
    tab = env._tab
    future = asyncio.run_coroutine_threadsafe(tab.run(tab.page.evaluate(code)), tab.loop)
    return future.result(20)


def fails_in_time(env, action, seconds):
    begun = time.monotonic()
    with pytest.raises(InfrastructureFailure) as caught:
        env.step(action)
    assert time.monotonic() - begun < seconds + 3
    return caught.value


def works_again(env):
    env.reset(seed=1)
    assert env.step(env.expert())[4]["success"]


@web
def test_a_page_that_hangs(make):
    env = make("click-test")
    env.step_seconds = 2.0
    env.reset(seed=1)
    on_page(env, "void (document.querySelector('#subbtn').onclick = () => { while (true) {} })")
    assert isinstance(fails_in_time(env, call("click", id=1), 2), DeadlineExceeded)
    works_again(env)


@web
def test_a_page_that_crashes(make):
    env = make("click-test")
    env.reset(seed=1)
    tab = env._tab

    async def crash():
        session = await tab.context.new_cdp_session(tab.page)
        await asyncio.wait([asyncio.ensure_future(session.send("Page.crash"))], timeout=2)

    asyncio.run_coroutine_threadsafe(crash(), tab.loop).result(10)
    fails_in_time(env, call("click", id=1), 10)
    works_again(env)


@web
@pytest.mark.parametrize("victim", ["browser", "driver"])
def test_a_process_that_is_killed(make, victim, tmp_path, monkeypatch):
    env, neighbour = make("click-test"), make("click-test")
    env.reset(seed=1)
    neighbour.reset(seed=1)
    os.kill(children(victim), signal.SIGKILL)
    fails_in_time(env, call("click", id=1), 10)
    works_again(env)
    works_again(neighbour)


def children(kind):
    """The process id of this process's driver, or of the browser that the driver started."""
    # Not `ps`: it cuts the command line off at COLUMNS, and where the checkout lies decides what is lost.
    parents, commands = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            commands[int(folder.name)] = (folder / "cmdline").read_bytes()
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # ended meanwhile
    driver = next(
        pid for pid, parent in parents.items() if parent == os.getpid() and b"playwright" in commands[pid]
    )
    if kind == "driver":
        return driver
    return next(pid for pid, parent in parents.items() if parent == driver)


@web
def test_the_last_close_ends_the_browser(make):
    one, other = make("click-test"), make("click-test")
    one.reset(seed=1)
    other.reset(seed=1)
    browser = children("browser")
    one.close()
    assert Path(f"/proc/{browser}").exists()
    other.close()
    assert until(lambda: not Path(f"/proc/{browser}").exists())
    one.close()


EPISODES = """
import itertools
from agentrl.envs.web.miniwob.env import MiniWobEnv
env = MiniWobEnv(tasks=["login-user"])
for seed in itertools.count():
    env.reset(seed=seed)
    env.step(env.expert())
    if seed == 0:
        print("playing", flush=True)
"""


@web
@pytest.mark.slow
def test_nothing_is_left_when_we_are_killed(tmp_path):
    for _ in range(10):
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        player = subprocess.Popen([sys.executable, "-c", EPISODES], env=environment, stdout=subprocess.PIPE)
        assert player.stdout.readline() == b"playing\n"
        assert len(processes(str(tmp_path))) > 2
        player.kill()
        player.wait()
        player.stdout.close()
        assert until(lambda: not processes(str(tmp_path))), processes(str(tmp_path))
    assert until(lambda: not list(tmp_path.glob("playwright*"))), list(tmp_path.iterdir())


@web
def test_one_browser_a_loop(make):
    """The synchronous face lives in the background loop, a collection in its own."""
    env = make("click-test")
    env.reset(seed=1)

    async def elsewhere():
        await env.areset(seed=1)
        shown = await env.astep(env.expert())
        await env.aclose()
        return shown

    assert asyncio.run(elsewhere())[4]["success"]
    assert json.dumps(env.state_key())
