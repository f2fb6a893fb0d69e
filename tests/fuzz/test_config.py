"""The short form of the fuzzing: a few seconds with each run of the tests."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_mutated_configurations_become_plans_or_typed_errors() -> None:
    done = subprocess.run((sys.executable, "-m", "tests.fuzz.config", "5"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4_000:]
    assert "Done" in done.stderr
