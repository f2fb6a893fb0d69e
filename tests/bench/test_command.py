"""The command line of the benchmarks."""

import subprocess
import sys

from bench.__main__ import BENCHMARKS


def test_an_unknown_benchmark_is_refused_with_the_names_there_are() -> None:
    done = subprocess.run((sys.executable, "-m", "bench", "nothing"), capture_output=True, text=True)
    assert done.returncode == 2
    assert all(name in done.stderr for name in BENCHMARKS)
    assert done.stdout == ""
