"""Backends for the tests: what is not installed here is skipped, and says so."""

import shutil
import subprocess

import pytest

from agentrl.sandboxes.backends import backend

HAS_BWRAP = shutil.which("bwrap") is not None


def has_engine() -> bool:
    if shutil.which("docker") is None:
        return False
    probe = subprocess.run(["docker", "info"], capture_output=True, timeout=20, check=False)
    return probe.returncode == 0


BACKENDS = [
    pytest.param("bubblewrap", marks=pytest.mark.skipif(not HAS_BWRAP, reason="bwrap is not installed")),
    pytest.param(
        "docker",
        marks=[pytest.mark.docker, pytest.mark.skipif(not has_engine(), reason="no Docker engine answers")],
    ),
]


@pytest.fixture(params=BACKENDS)
def some_backend(request):
    return backend(request.param)


@pytest.fixture
def bubblewrap():
    if not HAS_BWRAP:
        pytest.skip("bwrap is not installed")
    return backend("bubblewrap")
