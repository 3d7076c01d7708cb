"""What the tests of rollouts share: environments that break, and the count of what was made and closed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("faulty")
import faulty  # noqa: E402
from faulty import CLOSED, MADE, MOST_OPEN  # noqa: E402


@pytest.fixture(autouse=True)
def clean():
    CLOSED.clear()
    MADE.clear()
    MOST_OPEN.clear()
    faulty.Faulty.broken.clear()
