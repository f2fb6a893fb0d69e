"""States as people see them, in words and signs: the one table of pages, REST, mails, hooks, badges and terminals.

Source of texts and labels: GitLab's `detailed_status`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from domain.pipelines.status import Status

WARNING: Final = "success-with-warnings"


@dataclass(frozen=True, slots=True)
class Shown:
    """A state for people: a word of its own, the words of a sentence, a sign, and a colour for terminals.

    `group` is GitLab's name of the set of states that look alike. Signs are unlike each other also without colour.
    """

    text: str
    label: str
    group: str
    icon: str
    glyph: str
    style: str


SHOWN: Final[Mapping[str, Shown]] = {
    Status.CREATED: Shown("Created", "created", "created", "status_created", "○", "dim"),
    Status.WAITING_FOR_RESOURCE: Shown(
        "Waiting", "waiting for resource", "waiting-for-resource", "status_pending", "⧗", "yellow"
    ),
    Status.PREPARING: Shown("Preparing", "preparing", "preparing", "status_preparing", "◔", "yellow"),
    Status.PENDING: Shown("Pending", "pending", "pending", "status_pending", "‖", "yellow"),
    Status.RUNNING: Shown("Running", "running", "running", "status_running", "▶", "cyan"),
    Status.CANCELING: Shown("Canceling", "canceling", "canceling", "status_canceled", "◌", "magenta"),
    Status.SUCCESS: Shown("Passed", "passed", "success", "status_success", "✓", "green"),
    Status.FAILED: Shown("Failed", "failed", "failed", "status_failed", "✗", "red"),
    Status.CANCELED: Shown("Canceled", "canceled", "canceled", "status_canceled", "⊘", "magenta"),
    Status.SKIPPED: Shown("Skipped", "skipped", "skipped", "status_skipped", "»", "dim"),
    Status.MANUAL: Shown("Manual", "manual action", "manual", "status_manual", "☛", "blue"),
    Status.SCHEDULED: Shown("Delayed", "delayed", "scheduled", "status_scheduled", "◷", "blue"),
    WARNING: Shown("Warning", "passed with warnings", WARNING, "status_warning", "!", "yellow"),
}
ALLOWED: Final = Shown("Failed", "failed (allowed to fail)", "failed-with-warnings", "status_warning", "!", "yellow")
"""A job that failed and was allowed to."""


class AnyJob(Protocol):
    """A job, of whatever row."""

    @property
    def status(self) -> str:
        """How it is."""

    @property
    def allow_failure(self) -> bool:
        """Whether it may fail."""


class Whole(Protocol):
    """A pipeline, or a stage of one."""

    @property
    def status(self) -> str:
        """How it is."""

    @property
    def warned(self) -> bool:
        """Whether it has passed, and something failed in it that was allowed to."""


def shown_as(status: str, *, allow_failure: bool = False) -> Shown:
    """How a job is shown: one that failed and was allowed to is a warning. A status that nobody knows is itself."""
    if allow_failure and status == Status.FAILED:
        return ALLOWED
    return SHOWN.get(status) or Shown(status.capitalize(), status, "created", "status_created", "?", "")


def shown_job(job: AnyJob) -> Shown:
    """How a job is shown."""
    return shown_as(job.status, allow_failure=job.allow_failure)


def shown_whole(whole: Whole) -> Shown:
    """How a pipeline or a stage is shown."""
    return shown_as(WARNING if whole.warned else whole.status)


def status_named(word: str) -> str:
    """The status that a person means who writes a word of the table; every other word is itself."""
    wanted = word.strip().lower()
    return next((str(status) for status, shown in SHOWN.items() if wanted in {shown.text.lower(), shown.label}), word)
