"""A decision in portions that Temporal carries: retrying 10,000 jobs is one decision, but not one message."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, TypeVar

from domain.messages import Decision

MAX_JOBS: Final = 300
"""So many verdicts, transitions, attempts and cancels are in one portion."""

_PARTS: Final = ("verdicts", "transitions", "attempts", "takes", "cancel", "redundant")

T = TypeVar("T")


def portions(decision: Decision, most: int = MAX_JOBS) -> tuple[Decision, ...]:
    """The decision cut into pieces that are recorded one after another, in the order of its parts; at least one.

    What a portion holds never depends on a later one. The answers come with the last: a command whose recording is
    interrupted is asked again, and then finds the rest still to be done.
    """
    size = sum(len(getattr(decision, name)) for name in _PARTS)
    if size <= most:
        return (decision,)
    entries = ((name, entry) for name in _PARTS for entry in getattr(decision, name))
    empty = replace(decision, answers=(), **_parts({}))
    cut = [_with_started(_portion(empty, chunk)) for chunk in _chunks(entries, most)]
    return (*cut[:-1], replace(cut[-1], answers=decision.answers))


def _portion(empty: Decision, entries: Sequence[tuple[str, object]]) -> Decision:
    return replace(empty, **_parts({name: tuple(entry for part, entry in entries if part == name) for name in _PARTS}))


def _with_started(portion: Decision) -> Decision:
    """Let it say who started those jobs only that it holds."""
    held = {transition.job_id for transition in portion.transitions}
    held |= {-attempt.job_id for attempt in portion.attempts}
    cut = (replace(one, jobs=tuple(key for key in one.jobs if key in held)) for one in portion.started)
    return replace(portion, started=tuple(one for one in cut if one.jobs))


def _parts(given: Mapping[str, tuple[object, ...]]) -> dict[str, Any]:
    return {name: given.get(name, ()) for name in _PARTS}


def _chunks(entries: Iterator[T], size: int) -> Iterator[list[T]]:
    while chunk := list(islice(entries, size)):
        yield chunk
