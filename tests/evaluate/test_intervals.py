import json
from pathlib import Path

import pytest

from agentrl.evaluate.intervals import wilson

CASES = json.loads((Path(__file__).parents[1] / "golden" / "g09_evaluation.json").read_text())["cases"]
BINOMIAL = [case for case in CASES if case["id"].startswith("binomial_ci")]


@pytest.mark.parametrize("case", BINOMIAL, ids=lambda case: case["id"])
def test_wilson_reproduces_the_golden_numbers(case):
    got = wilson(case["inputs"]["x"], case["inputs"]["n"], case["inputs"]["level"])
    assert got == pytest.approx(case["outputs"]["wilson"], abs=1e-10)


def test_no_trials_know_nothing_and_impossible_counts_are_refused():
    assert wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match=r"0\.\.trials"):
        wilson(3, 2)
