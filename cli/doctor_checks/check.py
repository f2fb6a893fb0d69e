"""A row of `perdure doctor`."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a check came out; only `fail` makes the exit status one of failure."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it is, and what to do; `fix` is empty when nothing is."""

    name: str
    state: State
    detail: str
    fix: str = ""
