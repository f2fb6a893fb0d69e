"""A run of steps: what is asked for, and how far it is. Source: docs/requirements.md, "The step runner"."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from domain.config.reading.key_names import RULE, is_name
from domain.errors import Invalid
from domain.moa.values import Value
from domain.steps.definition import Definition, Sequence
from domain.steps.values import check_value

MAX_PATH: Final = 4_095
"""Bytes of a path (PATH_MAX of Linux, without the NUL at its end)."""
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
MAX_SECONDS: Final = 30 * 24 * 3600
"""How long a run may take at most."""


class RunStatus(StrEnum):
    """How far a run is."""

    PENDING = "pending"
    """It is written down, and its process has not begun with it."""
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    """Its process was killed, or the machine has started anew."""


ENDED: Final = frozenset(RunStatus) - {RunStatus.PENDING, RunStatus.RUNNING}
NEXT: Final[Mapping[RunStatus, frozenset[RunStatus]]] = {
    RunStatus.PENDING: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED, RunStatus.LOST}),
    RunStatus.RUNNING: ENDED,
    **{status: frozenset() for status in ENDED},
}
"""What may follow."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the job. The value of a `file` is put into a file, and the variable has its path then."""

    value: str
    file: bool = False
    masked: bool = False


@dataclass(frozen=True, slots=True)
class DoneStep:
    """What a step gave in an earlier run."""

    outputs: Mapping[str, Value] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What is to be run: either `steps`, a step file with `run`, or `script`, lines for a shell.

    `work_dir` is the folder of the job. `timeout` are seconds, 0 for no limit. `grace` are seconds between SIGTERM and
    SIGKILL for what is left when the run ends. The steps in `done`, the first ones, are not run again. Where one of the
    paths of `present` is missing, nothing is run: it is another machine than the caller takes it for.
    """

    id: str
    work_dir: str
    steps: str = ""
    script: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    timeout: float = 0
    grace: float = 5.0
    done: Mapping[str, DoneStep] = field(default_factory=dict)
    present: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunState:
    """How far a run is; times are unix seconds, 0 for what has not happened. `message` says why it failed."""

    status: RunStatus
    began_at: float = 0
    ended_at: float = 0
    message: str = ""
    pid: int = 0


def check_id(run_id: str) -> None:
    """Raise `Invalid` for what is no id of a run: it is the name of a folder, too."""
    if not _ID.fullmatch(run_id):
        raise Invalid(
            "the id of a run has 1 to 128 letters, digits, '.', '_' and '-', and begins with a letter or a digit"
        )


def check_request(request: RunRequest) -> None:
    """Raise `Invalid` for what cannot be run. Whether the steps are right is seen when they are read."""
    check_id(request.id)
    if bool(request.steps) == bool(request.script):
        raise Invalid("a run has either steps or a script, not both and not none")
    for what, names in (("environment", request.env), ("variables", request.variables)):
        wrong = [name for name in names if not is_name(name)]
        if wrong:
            raise Invalid(f"a name of the {what} is none, {wrong[0]!r}: {RULE}")
    values = {**request.env, **{name: one.value for name, one in request.variables.items()}}
    if request.done and not request.steps:
        raise Invalid("a script has no steps that could be done")
    for name, step in request.done.items():
        for output, value in step.outputs.items():
            check_value(f"output {output} of step {name}, which is done,", value)
    with_nul = [name for name, value in values.items() if "\0" in value]
    if with_nul or "\0" in request.work_dir:
        raise Invalid(f"{with_nul[0] if with_nul else 'the folder of the job'} has the character NUL in it")
    if len(request.work_dir.encode()) > MAX_PATH:
        raise Invalid(f"the path of the folder of the job has more than {MAX_PATH:,} bytes")
    if not 0 <= request.timeout <= MAX_SECONDS or not 0 <= request.grace <= MAX_SECONDS:
        raise Invalid(f"a time limit is from 0 to {MAX_SECONDS:,} seconds")


def check_done(definition: Definition, done: Mapping[str, DoneStep]) -> None:
    """Raise `Invalid` for steps that are said to be done and are not the first ones of a run."""
    names = [call.name for call in definition.work.calls] if isinstance(definition.work, Sequence) else []
    if set(names[: len(done)]) != set(done):
        raise Invalid(f"only the first steps of a run can be done ({', '.join(names)}), not {', '.join(done)}")
