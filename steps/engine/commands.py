"""Runs commands, each in a process group of its own."""

import os
import selectors
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.errors import Invalid
from steps.engine.ending import Ending
from steps.engine.log_files import LogFiles

NOT_STARTED: Final = -1
"""The exit code of a command that could not be started (docs/reference/steps.md, "Results")."""
_ENDED, _TO_END = object(), object()


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, and with which environment."""

    words: Sequence[str]
    folder: Path
    environment: Mapping[str, str]


class NotStarted(Invalid):
    """A command that is not there, may not be run, or is too long."""


def run_command(command: Command, log: LogFiles, ending: Ending) -> int:
    """Run a command to its end; its exit code, or, as shells tell it, 128 and the number of the signal that ended it.

    What it has started and left behind goes on. Raises `NotStarted`, and `Ended` as soon as the run has to end, with
    the command still at work: `steps.engine.processes` ends it.
    """
    ending.check()
    with log.pipes() as (out, error):
        process = _started(command, out, error)
    _wait(process, log, ending)
    code = process.returncode
    log.take_all()
    return 128 - code if code < 0 else code


def _started(command: Command, out: int, error: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(command.words),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=error,
            cwd=command.folder,
            env=dict(command.environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as fault:
        where = f" in {command.folder}" if not command.folder.is_dir() else ""
        raise NotStarted(f"`{command.words[0]}` cannot be started{where}: {_said(fault)}") from None


def _said(fault: Exception) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return fault.strerror
    return str(fault)


def _wait(process: subprocess.Popen[bytes], log: LogFiles, ending: Ending) -> None:
    """Until the process has ended, taking what it writes."""
    ended = os.pidfd_open(process.pid)
    log.selector.register(ended, selectors.EVENT_READ, _ENDED)
    if ending.fd >= 0:
        log.selector.register(ending.fd, selectors.EVENT_READ, _TO_END)
    try:
        while process.returncode is None:
            for key, _ in log.selector.select(ending.left):
                if isinstance(key.data, str):
                    log.take(key.fd, key.data)
                elif key.data is _ENDED:
                    process.wait()
            if process.returncode is None:
                ending.check()
    finally:
        log.selector.unregister(ended)
        os.close(ended)
        if ending.fd >= 0:
            log.selector.unregister(ending.fd)
