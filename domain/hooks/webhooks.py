"""Webhooks: what they may want to hear of, when one is backed off, and what an answer of a receiver means.

Source of the rules: GitLab's webhook documentation and its `WebHooks::AutoDisabling`.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from domain.config.rules.patterns import pattern_of
from domain.errors import Invalid, Unprocessable


class Event(StrEnum):
    """What a hook may hear of; the value is what GitLab's trigger begins with (`push_hooks`).

    Their order is that of the stored bits: a new one comes last.
    """

    PUSH = "push"
    TAG_PUSH = "tag_push"
    MERGE_REQUEST = "merge_request"
    JOB = "job"
    PIPELINE = "pipeline"
    DEPLOYMENT = "deployment"
    RELEASE = "release"
    REPOSITORY_UPDATE = "repository_update"
    SYSTEM = "system"
    NOTE = "note"
    CONFIDENTIAL_NOTE = "confidential_note"


class HookScope(StrEnum):
    """What a hook hears of: one project, all projects of a group and of those within it, or all of the installation."""

    PROJECT = "project"
    GROUP = "group"
    SYSTEM = "system"


BITS: Final[Mapping[Event, int]] = {event: 1 << place for place, event in enumerate(Event)}
"""How sets of events are stored."""
REPORTED: Final = 1 << 16
"""The statuses of pipelines are reported to another forge: stands beside the events of hooks."""
MAILED: Final = 1 << 17
"""People are told by e-mail (`domain.notifications`): stands beside them, too."""
CHATTED: Final = 1 << 18
"""An integration is told, a chat for example."""

FLAGS: Final[Mapping[str, Event]] = {
    "push_events": Event.PUSH,
    "tag_push_events": Event.TAG_PUSH,
    "merge_requests_events": Event.MERGE_REQUEST,
    "job_events": Event.JOB,
    "pipeline_events": Event.PIPELINE,
    "deployment_events": Event.DEPLOYMENT,
    "releases_events": Event.RELEASE,
    "note_events": Event.NOTE,
    "confidential_note_events": Event.CONFIDENTIAL_NOTE,
}
"""GitLab's parameters of hooks of projects and groups; the names of test triggers too."""
SYSTEM_FLAGS: Final[Mapping[str, Event]] = {
    "push_events": Event.PUSH,
    "tag_push_events": Event.TAG_PUSH,
    "merge_requests_events": Event.MERGE_REQUEST,
    "repository_update_events": Event.REPOSITORY_UPDATE,
}
"""Those of system hooks, which hear of changes of projects, groups, members and people (`Event.SYSTEM`) anyway."""


def flags_of(scope: str) -> Mapping[str, Event]:
    """The parameters of hooks of a scope."""
    return SYSTEM_FLAGS if scope == HookScope.SYSTEM else FLAGS


TITLES: Final[Mapping[Event, str]] = {
    Event.PUSH: "Push Hook",
    Event.TAG_PUSH: "Tag Push Hook",
    Event.MERGE_REQUEST: "Merge Request Hook",
    Event.JOB: "Job Hook",
    Event.PIPELINE: "Pipeline Hook",
    Event.DEPLOYMENT: "Deployment Hook",
    Event.RELEASE: "Release Hook",
    Event.NOTE: "Note Hook",
    Event.CONFIDENTIAL_NOTE: "Confidential Note Hook",
}
"""Header `X-Gitlab-Event` for hooks of projects and groups."""
SYSTEM_TITLE: Final = "System Hook"
"""The same for system hooks, whatever they hear of."""


def title_of(event: Event, scope: str) -> str:
    """Header `X-Gitlab-Event`."""
    return SYSTEM_TITLE if scope == HookScope.SYSTEM else TITLES[event]


def trigger_of(event: Event, scope: str) -> str:
    """What GitLab calls an event in the log of deliveries."""
    return "system_hooks" if scope == HookScope.SYSTEM else f"{event}_hooks"


DEPLOYMENT_STATUSES: Final = frozenset({"running", "success", "failed", "canceled"})
"""A deployment starts, succeeds, fails or is canceled: nothing else of it is told."""


def bits_of(events: Iterable[Event]) -> int:
    """A set of events as it is stored."""
    return sum(BITS[event] for event in set(events))


def wants(bits: int, event: Event) -> bool:
    """Whether a stored set holds an event."""
    return bool(bits & BITS[event])


class BranchFilter(StrEnum):
    """How `push_events_branch_filter` is read."""

    WILDCARD = "wildcard"
    REGEX = "regex"
    ALL_BRANCHES = "all_branches"


def check_branch_filter(strategy: str, text: str) -> None:
    """Raise `Unprocessable` for a regular expression that RE2 does not know."""
    if strategy == BranchFilter.REGEX and text:
        try:
            pattern_of(text)
        except Invalid as error:
            raise Unprocessable(f"Invalid branch filter given: {error}") from error


def passes_branch_filter(strategy: str, text: str, branch: str) -> bool:
    """Whether a push to a branch is told: an empty filter lets all pass, `*` of a wildcard stands for any text."""
    if not text or strategy == BranchFilter.ALL_BRANCHES:
        return True
    if strategy == BranchFilter.REGEX:
        return pattern_of(text).matches(branch)
    return _fits(text.split("*"), branch)


def _fits(parts: list[str], text: str) -> bool:
    """Whether the parts stand in the text one after the other, the first at its begin and the last at its end."""
    first, *rest = parts
    if not rest:
        return text == first
    if not text.startswith(first):
        return False
    place = len(first)
    for part in rest[:-1]:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - place >= len(rest[-1]) and text.endswith(rest[-1])


GRACE: Final = 3
"""So many failures in a row change nothing; each further one switches the hook off for a while."""
MAX_FAILURES: Final = 39
"""One more failure in a row, and the hook stays off until somebody tests it with success."""
FIRST_BACKOFF: Final = timedelta(minutes=1)
MAX_BACKOFF: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Health:
    """How a hook fares: failures in a row, and until when it is switched off because of them."""

    failures: int = 0
    disabled_until: datetime | None = None

    def alert(self, now: datetime) -> str:
        """GitLab's `alert_status`."""
        if self.failures > MAX_FAILURES:
            return "disabled"
        waits = self.failures > GRACE and self.disabled_until is not None and self.disabled_until >= now
        return "temporarily_disabled" if waits else "executable"

    def failed(self, now: datetime) -> "Health":
        """After a failure. What fails while the hook is switched off was begun before: it counts no more."""
        if self.alert(now) != "executable":
            return self
        failures = min(self.failures + 1, MAX_FAILURES + 1)
        if failures <= GRACE:
            return Health(failures)
        pause = min(FIRST_BACKOFF * 2 ** (self.failures - GRACE), MAX_BACKOFF)
        return Health(failures, now + pause)


_OFF: Final = "The hook is disabled after {} failures in a row; test it to enable it again."
OFF: Final = _OFF.format(MAX_FAILURES + 1)
"""Why an event of a hook that is switched off for good is not delivered."""


class Outcome(StrEnum):
    """What became of an attempt."""

    DELIVERED = "delivered"
    AGAIN = "again"
    FAILED = "failed"


_LATER: Final = frozenset({408, 429})
"""Refusals that pass."""


def outcome_of(status: int | None, *, passing: bool) -> Outcome:
    """What an HTTP status means; `passing` is whether a failure without one may be gone later.

    A redirect is not followed and a refusal is final, but for those that say "later".
    """
    if status is None:
        return Outcome.AGAIN if passing else Outcome.FAILED
    if 200 <= status < 300:
        return Outcome.DELIVERED
    return Outcome.AGAIN if status in _LATER or status >= 500 else Outcome.FAILED


def pause_before(attempts: int, first: float, longest: float, retry_after: str = "") -> timedelta:
    """How long to wait after so many attempts (1 at least); a receiver that says how many seconds is heard."""
    pause = min(first * 2 ** min(attempts - 1, 40), longest)
    if retry_after.isascii() and retry_after.isdigit():
        pause = max(pause, min(float(retry_after), longest))
    return timedelta(seconds=pause)


SIGNING_PREFIX: Final = "whsec_"
_KEY_BYTES: Final = 32


def signing_key(token: str) -> bytes:
    """The key of a signing token, `whsec_` and 32 bytes in base64 (Standard Webhooks). Raises `Invalid`."""
    try:
        found = base64.b64decode(token.removeprefix(SIGNING_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if not token.startswith(SIGNING_PREFIX) or len(found) != _KEY_BYTES:
        raise Invalid("signing_token must be whsec_ and 32 bytes in base64.")
    return found
