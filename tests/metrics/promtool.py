"""Prometheus' own tool, for texts and files that it shall read."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def promtool(*arguments: str | Path, stdin: bytes = b"") -> str:
    """What it says; the test fails if it refuses. Without it the test is skipped, or fails where CI=true."""
    found = shutil.which("promtool")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("not run: promtool")
        pytest.skip("not run: promtool")
    done = subprocess.run([found, *map(str, arguments)], input=stdin, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said
