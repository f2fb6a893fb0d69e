"""States as people see them: a word, a label and a glyph each, the same on every page and in `detailed_status`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import TypedDict

from domain.pipelines.status import Status
from models.rows.pipelines import JobFacts

WARNING: Final = "success-with-warnings"


@dataclass(frozen=True, slots=True)
class Shown:
    """A state for people. `group` is GitLab's name of the set of states that look alike."""

    text: str
    label: str
    group: str
    icon: str
    glyph: str


SHOWN: Final[Mapping[str, Shown]] = {
    Status.CREATED: Shown("Created", "created", "created", "status_created", "○"),
    Status.WAITING_FOR_RESOURCE: Shown(
        "Waiting", "waiting for resource", "waiting-for-resource", "status_pending", "⧗"
    ),
    Status.PREPARING: Shown("Preparing", "preparing", "preparing", "status_preparing", "◔"),
    Status.PENDING: Shown("Pending", "pending", "pending", "status_pending", "‖"),
    Status.RUNNING: Shown("Running", "running", "running", "status_running", "▶"),
    Status.CANCELING: Shown("Canceling", "canceling", "canceling", "status_canceled", "◌"),
    Status.SUCCESS: Shown("Passed", "passed", "success", "status_success", "✓"),
    Status.FAILED: Shown("Failed", "failed", "failed", "status_failed", "✗"),
    Status.CANCELED: Shown("Canceled", "canceled", "canceled", "status_canceled", "⊘"),
    Status.SKIPPED: Shown("Skipped", "skipped", "skipped", "status_skipped", "»"),
    Status.MANUAL: Shown("Manual", "manual action", "manual", "status_manual", "☛"),
    Status.SCHEDULED: Shown("Delayed", "delayed", "scheduled", "status_scheduled", "◷"),
    WARNING: Shown("Warning", "passed with warnings", WARNING, "status_warning", "!"),
}
"""Glyphs are unlike each other also without colour."""


def shown_job(row: JobFacts) -> Shown:
    """How a job is shown: one that failed and was allowed to is a warning."""
    if row.allow_failure and row.status == Status.FAILED:
        failed = SHOWN[Status.FAILED]
        warning = SHOWN[WARNING]
        return Shown("Failed", f"{failed.label} (allowed to fail)", "failed-with-warnings", warning.icon, warning.glyph)
    return SHOWN[row.status]


def shown_pipeline(status: str, *, warned: bool = False) -> Shown:
    """How a pipeline is shown; `warned` when a job failed that was allowed to."""
    return SHOWN[WARNING if warned and status == Status.SUCCESS else status]


class DetailedStatusResponse(TypedDict):
    """A state as GitLab's pages show it."""

    icon: str
    text: str
    label: str
    group: str
    tooltip: str
    has_details: bool
    details_path: str
    illustration: dict[str, Any] | None
    favicon: str


def detailed_status(shown: Shown, path: str) -> DetailedStatusResponse:
    """GitLab's `detailed_status`; `path` leads to the page."""
    return {
        "icon": shown.icon,
        "text": shown.text,
        "label": shown.label,
        "group": shown.group,
        "tooltip": shown.label,
        "has_details": True,
        "details_path": path,
        "illustration": None,
        "favicon": "/favicon.ico",
    }
