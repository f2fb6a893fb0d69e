"""What is told to people, and at which level: one table, and one function that reads it.

Pipelines are told as GitLab tells them: to whoever started one, and to nobody else. Deployments, which GitLab tells to
no person, go to who deployed or may deploy; merge requests to those who take part in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.notifications import levels
from domain.notifications.levels import Level, Setting


class Occasion(StrEnum):
    """Something that happened and is worth a message."""

    PIPELINE_FAILED = "pipeline_failed"
    PIPELINE_FIXED = "pipeline_fixed"
    PIPELINE_SUCCEEDED = "pipeline_succeeded"
    DEPLOYMENT_STARTED = "deployment_started"
    DEPLOYMENT_SUCCEEDED = "deployment_succeeded"
    DEPLOYMENT_FAILED = "deployment_failed"
    DEPLOYMENT_CANCELED = "deployment_canceled"
    DEPLOYMENT_WAITING = "deployment_waiting"
    APPROVAL_NEEDED = "approval_needed"
    APPROVED = "approved"
    MERGED = "merged"
    AUTO_MERGE_FAILED = "auto_merge_failed"
    TEST = "test"


PIPELINES: Final = frozenset({Occasion.PIPELINE_FAILED, Occasion.PIPELINE_FIXED, Occasion.PIPELINE_SUCCEEDED})
DEPLOYMENTS: Final = frozenset(
    {
        Occasion.DEPLOYMENT_STARTED,
        Occasion.DEPLOYMENT_SUCCEEDED,
        Occasion.DEPLOYMENT_FAILED,
        Occasion.DEPLOYMENT_CANCELED,
        Occasion.DEPLOYMENT_WAITING,
    }
)
MERGE_REQUESTS: Final = frozenset(
    {Occasion.APPROVAL_NEEDED, Occasion.APPROVED, Occasion.MERGED, Occasion.AUTO_MERGE_FAILED}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """Who hears of an occasion. `event` is its name at the level `custom`.

    `participants`: those who take part hear of it at the levels `participating` and `watch`. `anybody`: those who take
    no part hear of it at `custom`, and at `watch` if it is for `watchers`. `own`: also who did it.
    `always`: who takes part hears of it at `custom`, too, whatever events they chose.
    """

    event: str
    participants: bool = True
    watchers: bool = True
    anybody: bool = False
    own: bool = False
    always: bool = False


RULES: Final[Mapping[Occasion, Rule]] = {
    Occasion.PIPELINE_FAILED: Rule(levels.FAILED_PIPELINE, own=True),
    Occasion.PIPELINE_FIXED: Rule(levels.FIXED_PIPELINE, own=True),
    Occasion.PIPELINE_SUCCEEDED: Rule(levels.SUCCESS_PIPELINE, participants=False, watchers=False, own=True),
    Occasion.DEPLOYMENT_SUCCEEDED: Rule(
        levels.SUCCESSFUL_DEPLOYMENT, participants=False, watchers=False, anybody=True, own=True
    ),
    Occasion.DEPLOYMENT_FAILED: Rule(levels.FAILED_DEPLOYMENT, anybody=True, own=True),
    Occasion.DEPLOYMENT_WAITING: Rule(levels.WAITING_DEPLOYMENT),
    Occasion.APPROVAL_NEEDED: Rule(levels.APPROVER, watchers=False, anybody=True, always=True),
    Occasion.APPROVED: Rule(levels.APPROVED, anybody=True, always=True),
    Occasion.MERGED: Rule(levels.MERGE, anybody=True, always=True),
    Occasion.AUTO_MERGE_FAILED: Rule(levels.AUTO_MERGE, watchers=False, always=True),
}
"""Occasions that are not here are told in chats alone."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What somebody has to do with what happened: they take part in it, they did it."""

    takes_part: bool = False
    did_it: bool = False


def hears(setting: Setting, occasion: Occasion, relation: Relation) -> bool:
    """Whether somebody is told by e-mail, with the setting that counts for them there."""
    rule = RULES.get(occasion)
    if rule is None or (relation.did_it and not rule.own):
        return False
    concerned = relation.takes_part or rule.anybody
    answers = {
        Level.PARTICIPATING: relation.takes_part and rule.participants,
        Level.WATCH: (relation.takes_part and rule.participants) or (concerned and rule.watchers),
        Level.CUSTOM: (concerned and setting.wants(rule.event)) or (relation.takes_part and rule.always),
    }
    return answers.get(setting.level, False)
