"""Inputs that outsiders found to be read wrongly: scripts that say whether they are read right now."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.program import ROOT

TURN4: Final = Path(__file__).parent / "samples" / "turn4"


@pytest.mark.parametrize("name", ["dotenv.sh", "junit-encoding.sh"])
def test_a_script_finds_nothing_wrong(name: str) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", TURN4 / name], cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "WRONG" in done.stdout) == (0, False), done.stdout + done.stderr
