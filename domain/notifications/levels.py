"""How much somebody wants to hear: levels and single events, as GitLab has them, for everything, a group or a project.

Source of the rules: GitLab's documentation of notification levels and of the notification settings API; its
`NotificationSetting` and `NotificationRecipient`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Level(StrEnum):
    """A level; `global` stands for the one of the group around, and at last for that of everything."""

    DISABLED = "disabled"
    PARTICIPATING = "participating"
    WATCH = "watch"
    GLOBAL = "global"
    MENTION = "mention"
    CUSTOM = "custom"


FAILED_PIPELINE: Final = "failed_pipeline"
FIXED_PIPELINE: Final = "fixed_pipeline"
SUCCESS_PIPELINE: Final = "success_pipeline"
MERGE: Final = "merge_merge_request"
AUTO_MERGE: Final = "merge_when_pipeline_succeeds"
APPROVER: Final = "approver"
APPROVED: Final = "approve_merge_request"
FAILED_DEPLOYMENT: Final = "failed_deployment"
SUCCESSFUL_DEPLOYMENT: Final = "successful_deployment"
WAITING_DEPLOYMENT: Final = "deployment_approval"

TOLD: Final = (
    FAILED_PIPELINE,
    FIXED_PIPELINE,
    SUCCESS_PIPELINE,
    MERGE,
    AUTO_MERGE,
    APPROVER,
    APPROVED,
    FAILED_DEPLOYMENT,
    SUCCESSFUL_DEPLOYMENT,
    WAITING_DEPLOYMENT,
)
"""Events that are told here; the last four are ours."""
KEPT: Final = (
    "new_release",
    "new_note",
    "new_issue",
    "reopen_issue",
    "close_issue",
    "reassign_issue",
    "issue_due",
    "new_merge_request",
    "push_to_merge_request",
    "reopen_merge_request",
    "close_merge_request",
    "reassign_merge_request",
    "change_reviewer_merge_request",
    "moved_project",
)
"""Events of GitLab of which nothing is told here: what somebody chose is kept and shown."""
EVENTS: Final = (*KEPT, *TOLD)
ON_AT_FIRST: Final = frozenset({FAILED_PIPELINE, FIXED_PIPELINE, "moved_project"})
"""Events of the level `custom` that count as chosen until somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What somebody chose for one place. `events` are those that were ever chosen or left out by hand."""

    level: Level = Level.GLOBAL
    events: Mapping[str, bool] = field(default_factory=dict)

    def wants(self, event: str) -> bool:
        """Whether an event is chosen; it counts at the level `custom` alone."""
        return self.events.get(event, event in ON_AT_FIRST)


AT_FIRST: Final = Setting(Level.PARTICIPATING)
"""What holds for everything until somebody says otherwise."""


def in_force(places: Iterable[Setting | None]) -> Setting:
    """The setting that counts, from those of a project, of the groups around it from within, and of everything."""
    for setting in places:
        if setting is not None and setting.level is not Level.GLOBAL:
            return setting
    return AT_FIRST
