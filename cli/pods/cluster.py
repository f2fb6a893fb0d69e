"""Asking every pod of a cluster at once, each with the token that opens it, and for so long only."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from queue import Empty, SimpleQueue
from typing import Any

import httpx

from cli.client import Api
from domain.errors import Forbidden, NotFound, PerdureError, Unauthenticated
from domain.pods.directory import Pod


class Failure(StrEnum):
    """Why there is nothing of a pod."""

    NO_TOKEN = "no token"  # noqa: S105  # the name of a state
    NO_RIGHT = "no right"
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    UNREACHABLE = "unreachable"
    ANOTHER_POD = "another pod"


OF_RIGHTS = frozenset({Failure.NO_TOKEN, Failure.NO_RIGHT})
"""Failures of a pod that may be well."""


@dataclass(frozen=True, slots=True)
class Door:
    """A server where a pod is to be asked, and the token for it."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of asking a pod: what it says of itself (`GET /pod`), or why there is nothing."""

    pod: Pod
    state: Mapping[str, Any] | None = None
    failure: Failure | None = None
    why: str = ""


def ask_all(doors: Sequence[tuple[Pod, Sequence[Door]]], seconds: float) -> list[Answer]:
    """Ask all side by side, a pod at each of its doors; returns after `seconds` at the latest, in their order.

    Nobody waits for a thread that hangs: it ends with the process.
    """
    came: SimpleQueue[Answer] = SimpleQueue()
    missing: dict[int, int] = {pod.number: len(places) for pod, places in doors if places}
    for pod, places in doors:
        for door in places:
            asking = threading.Thread(target=lambda *args: came.put(_ask(*args)), args=(pod, door, seconds))
            asking.daemon = True
            asking.start()
    found: dict[int, Answer] = {}
    end = time.monotonic() + seconds
    while missing and (left := end - time.monotonic()) > 0:
        try:
            answer = came.get(timeout=left)
        except Empty:
            break
        number = answer.pod.number
        if number not in missing:
            continue
        missing[number] -= 1
        if number not in found or answer.state is not None:
            found[number] = answer
        if answer.state is not None or not missing[number]:
            del missing[number]
    late = f"It did not answer within {seconds:g} s."
    return [_of(pod, places, found, late) for pod, places in doors]


def _of(pod: Pod, places: Sequence[Door], found: Mapping[int, Answer], late: str) -> Answer:
    if not places:
        address = pod.address.split(",")[0]
        why = f"You have no token for it. Next: `perdure login --keep-default http://{address}`."
        return Answer(pod, failure=Failure.NO_TOKEN, why=why)
    return found.get(pod.number) or Answer(pod, failure=Failure.TIMED_OUT, why=late)


def _ask(pod: Pod, door: Door, seconds: float) -> Answer:
    try:
        with closing(Api(door.url, door.token, advice={}, timeout=seconds)) as api:
            state = api.get("/pod")
    except PerdureError as error:
        return Answer(pod, failure=_failure(error), why=str(error))
    called = (state.get("name"), state.get("number")) if isinstance(state, dict) else None
    if called == (pod.name, pod.number):
        return Answer(pod, state)
    what = "no pod" if called is None else f"pod {called[0]} with the number {called[1]}"
    return Answer(pod, failure=Failure.ANOTHER_POD, why=f"{door.url} is {what}.")


def _failure(error: PerdureError) -> Failure:
    cause = error.__cause__
    if isinstance(error, Unauthenticated | Forbidden):
        return Failure.NO_RIGHT
    if isinstance(cause, httpx.TimeoutException):
        return Failure.TIMED_OUT
    if isinstance(cause, httpx.ConnectError) and "refused" in str(cause).lower():
        return Failure.REFUSED
    return Failure.ANOTHER_POD if isinstance(error, NotFound) else Failure.UNREACHABLE
