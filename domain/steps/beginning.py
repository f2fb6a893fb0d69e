"""Where a new attempt of a job with `run` begins, and what is known of the steps before it.

Source: docs/steps.md, "Again from a step".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from domain.config.reading.spelling import nearest
from domain.errors import Refused
from domain.steps.kept_results import KeptStep

_SUCCESS: Final = "success"
_MANY: Final = 20
"""So many steps are listed in a refusal."""
_MAX_SHOWN: Final = 80
_MAX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there are no results of the steps of an attempt, as the end of a sentence."""

    why: str


NOT_ENDED: Final = Missing("the attempt has not ended")
NEVER: Final = Missing("its runner handed in no results of steps")
ERASED: Final = Missing("their results were erased with the log of the attempt")
GONE: Final = Missing("their results have expired or were deleted")
Results = Sequence[KeptStep] | Missing


def unreadable(fault: str) -> Missing:
    """Results that are there, and are none; `fault` is what `read_kept` says."""
    return Missing(f"the results that its runner handed in cannot be used: {fault}")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The step to begin at, and `outputs` and `exports` of each step before it, by name and in order.

    The first step has none before it: the attempt is then like any other.
    """

    step: str
    done: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def begin_at(run: Sequence[Mapping[str, Any]], results: Results, asked: str) -> Beginning:
    """Where the next attempt begins: `asked` is the name of a step of `run`, or its number from 1.

    `results` are those of the attempt that is retried. Raises `Refused` with the reason and what can be done instead.
    """
    names = [str(step["name"]) for step in run]
    position = _position(names, asked)
    step = names[position]
    if position == 0:
        return Beginning(step)
    if isinstance(results, Missing):
        raise Refused(f"{_cannot(step)}: nothing is known of the steps before it, since {results.why}. {_ALL}")
    if [one.name for one in results] != names[: len(results)]:
        fault = unreadable("its steps are not those of the job")
        raise Refused(f"{_cannot(step)}: nothing is known of the steps before it, since {fault.why}. {_ALL}")
    for place, name in enumerate(names[:position]):
        _check(step, name, results[place] if place < len(results) else None)
    before = results[:position]
    return Beginning(step, {one.name: {"outputs": one.outputs, "exports": one.exports} for one in before})


_ALL: Final = "Retry the job without from_step."


def _cannot(step: str) -> str:
    return f"The job cannot begin at step '{step}'"


def _check(step: str, name: str, result: KeptStep | None) -> None:
    """Raise `Refused` unless a step before `step` is done, and all that it gave is known."""
    if result is None:
        fault = "did not run"
    elif result.status != _SUCCESS:
        fault = "did not succeed"
    elif not result.is_kept:
        fault = "gave something sensitive, which is not kept"
    else:
        return
    raise Refused(f"{_cannot(step)}: step '{name}' before it {fault}. Begin at '{name}' or before.")


def _position(names: Sequence[str], asked: str) -> int:
    """Counts from 0. A text of digits is a number unless a step is called so."""
    if not names:
        raise Refused(f"The job has no `run`, so there is no step to begin at. {_ALL}")
    if asked in names:
        return names.index(asked)
    if asked.isascii() and asked.isdigit() and len(asked) <= _MAX_DIGITS and 1 <= int(asked) <= len(names):
        return int(asked) - 1
    shown = repr(asked[:_MAX_SHOWN])
    listed = ", ".join(f"{name} ({number})" for number, name in enumerate(names[:_MANY], start=1))
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    raise Refused(f"The job has no step {shown}{nearest([asked], names) or '.'} Its steps are {listed}{more}.")
