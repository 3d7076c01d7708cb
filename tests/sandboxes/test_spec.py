"""Settings of a sandbox: strict defaults, weakened ones named, bad ones refused."""

import pytest

from agentrl.core.failures import UnknownName, UserError
from agentrl.sandboxes.backends import backend, spec_of
from agentrl.sandboxes.base import MIB, SandboxSpec, SandboxUnavailable


def test_the_defaults_weaken_nothing():
    assert SandboxSpec().weakened() == ()
    assert SandboxSpec().record()["weakened"] == []


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"network": True}, "network"),
        ({"read_only": False}, "read_only"),
        ({"seccomp": False}, "seccomp"),
        ({"user": 0}, "user"),
        ({"capabilities": ["NET_RAW"]}, "capabilities"),
    ],
)
def test_what_is_weakened_is_named(settings, name):
    assert spec_of(settings).weakened() == (name,)
    assert spec_of(settings).record()["weakened"] == [name]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"memory": MIB}, "memory must be at least"),
        ({"memory": "much"}, "memory"),
        ({"cpus": 0}, "cpus must be at least"),
        ({"output_bytes": 2 * MIB}, "output_bytes must be at most"),
        ({"workspace_bytes": 600 * MIB}, "must fit in memory"),
        ({"processes": True}, "processes"),
    ],
)
def test_bad_settings_are_refused(settings, sentence):
    with pytest.raises(UserError, match=sentence):
        spec_of(settings)


def test_settings_may_be_json_text():
    assert spec_of('{"processes": 64}') == SandboxSpec(processes=64)
    assert spec_of("") == SandboxSpec()


@pytest.mark.parametrize("text", ["{memory}", "[1]", "3", '"x"'])
def test_text_that_is_no_object_is_refused(text):
    with pytest.raises(UserError, match="sandbox settings are"):
        spec_of(text)


def test_an_unknown_setting_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'memory'"):
        spec_of({"memmory": 1})


def test_an_unknown_backend_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'docker'"):
        backend("doker")


async def test_local_refuses_without_its_flag():
    with pytest.raises(SandboxUnavailable, match="local-unsafe"):
        await backend("local").start(SandboxSpec())


@pytest.mark.parametrize("settings", [{"image": "x"}, {"runtime": "runsc"}, {"capabilities": ["NET_RAW"]}])
async def test_settings_of_docker_are_refused_elsewhere(bubblewrap, settings):
    with pytest.raises(SandboxUnavailable, match="docker"):
        await bubblewrap.start(spec_of(settings))
