"""Calls programs that help with a run, such as git: quiet, bounded in time, and ended as soon as the run has to end."""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from domain.errors import Invalid
from steps.engine.ending import Ending

_LOOK: Final = 0.05


@dataclass(frozen=True, slots=True)
class Said:
    """The exit code of a program, what it wrote to its output, and the line on standard error that says why."""

    code: int
    output: str
    last_word: str


def call(command: Sequence[str], environment: Mapping[str, str], ending: Ending, timeout: float) -> Said:
    """Call a program and wait for its end, `timeout` seconds at most.

    Raises `Invalid` for one that cannot be started or takes too long, and `Ended`; it is killed then.
    """
    deadline = time.monotonic() + timeout
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=error,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        except OSError as fault:
            raise Invalid(f"{command[0]} cannot be started: {fault.strerror}") from None
        try:
            _wait(process, ending, deadline)
        except TimeoutError:
            raise Invalid(f"{command[0]} took longer than {timeout:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
        out.seek(0)
        error.seek(0)
        said = error.read().decode(errors="replace").strip() or "no reason given"
        return Said(process.returncode, out.read().decode(errors="replace").strip(), _last_word(said))


def _last_word(said: str) -> str:
    """The line that git calls fatal, behind which there may be advice; of others the last one."""
    lines = said.splitlines()
    return next((line for line in lines if line.startswith("fatal: ")), lines[-1])


def _wait(process: subprocess.Popen[bytes], ending: Ending, deadline: float) -> None:
    while True:
        try:
            process.wait(_LOOK)
        except subprocess.TimeoutExpired:
            ending.check()
            if time.monotonic() > deadline:
                raise TimeoutError from None
        else:
            return
