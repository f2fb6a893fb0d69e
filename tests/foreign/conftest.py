"""A foreign runner in a Python environment of its own, made at the first use and kept under `.perdure/venvs`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program import ROOT, environment

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
HOME = ROOT / ".perdure" / "venvs" / "foreign-runner"


@pytest.fixture(scope="session")
def foreign_python() -> Path:
    """The interpreter that has the foreign runner."""
    python, seal = HOME / "bin" / "python", HOME / "installed.txt"
    wanted = f"{sys.version}\n{REQUIREMENTS.read_text()}"
    if not seal.exists() or seal.read_text() != wanted:
        shutil.rmtree(HOME, ignore_errors=True)
        _run(sys.executable, "-m", "venv", HOME)
        _run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", REQUIREMENTS)
        seal.write_text(wanted)
    return python


def _run(*command: str | Path) -> None:
    done = subprocess.run(
        command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode != 0:
        # Most likely no package registry can be reached from here.
        message = f"not run: the foreign runner cannot be installed:\n{done.stdout}{done.stderr}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
