"""Getting a runner or a client of other make onto this machine, or saying why the test is not run."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from tests.program import environment

PATIENCE = 1_200.0
"""Seconds: a compiler may have hundreds of libraries to translate."""


def install_once(home: Path, wanted: str, *commands: Sequence[str | Path]) -> None:
    """Fill the folder `home` by `commands`, unless an earlier run filled it with `wanted`.

    Tests in other processes want the same folder at the same time: the first one fills it, the others wait.
    """
    seal = home / "installed.txt"
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if seal.exists() and seal.read_text() == wanted:
            return
        shutil.rmtree(home, ignore_errors=True)
        for command in commands:
            install(*command)
        seal.write_text(wanted)


def install(*command: str | Path, cwd: Path | None = None, **variables: str) -> None:
    """Run one command that needs a package registry; without one the test is not run."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip(f"not run: no {command[0]}")
    if done.returncode != 0:
        not_run(f"what others made cannot be installed:\n{done.stdout}{done.stderr}")


def not_run(why: str) -> NoReturn:
    """Skip the test with words; where everything is expected to be there, fail."""
    message = f"not run: {why}"
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
