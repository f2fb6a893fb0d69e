"""Bodies of Merge Request Hooks: the merge request as it was when the event was noted, and what was changed."""

from collections.abc import Mapping
from typing import Any, Final

from activities.hooks import parts
from activities.hooks.moments import plain, read
from domain.merge_requests.merge_request import State, is_draft
from domain.merge_requests.news import STATE_IDS
from models.repositories.hooks.hook_facts import Around
from models.rows.hooks import EventDeliveryRow
from models.rows.labels import LabelRow

_LISTS: Final = {"assignee_ids": "assignees", "reviewer_ids": "reviewers"}
"""Lists of people, and what their changes are called."""


def merge_request_body(row: EventDeliveryRow, around: Around, url: str) -> dict[str, Any]:
    """The body for an event of a merge request."""
    facts = row.facts
    mine = facts["merge_request"]
    return {
        "object_kind": "merge_request",
        "event_type": "merge_request",
        "user": parts.person(around.user(row.user_id)),
        "project": parts.project(around.project, url),
        "object_attributes": {
            **request_attributes(facts, around, url),
            "actioned_at": plain(row.happened_at),
            **_action(facts),
        },
        "labels": _labels(mine["labels"], around),
        "changes": {_LISTS.get(name, name): _change(name, both, around) for name, both in facts["changes"].items()},
        "repository": parts.short_repository(around.project, url),
        "assignees": _people(mine["assignee_ids"], around),
        "reviewers": [
            {**person, "state": _review(person["id"], facts), "re_requested": False}
            for person in _people(mine["reviewer_ids"], around)
        ],
    }


def _action(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What happened; a test has no action."""
    found: dict[str, Any] = {"action": facts["action"]} if facts["action"] else {}
    found["system"] = bool(facts["system_action"])
    if facts["oldrev"]:
        found["oldrev"] = facts["oldrev"]
    if facts["system_action"]:
        found["system_action"] = facts["system_action"]
    return found


def _review(user_id: int, facts: Mapping[str, Any]) -> str:
    """What a reviewer has done; that somebody has begun a review is not known."""
    return "approved" if user_id in facts.get("approved_by", ()) else "unreviewed"


def request_attributes(facts: Mapping[str, Any], around: Around, url: str) -> dict[str, Any]:
    """A merge request as it was (`application.merge_requests.news.facts_of`; those of older processes tell less)."""
    mine = facts["merge_request"]
    merged = mine["state"] == State.MERGED
    created, updated, at = (plain(read(mine.get(name))) for name in ("created_at", "updated_at", "merged_at"))
    return {
        "id": mine["id"],
        "iid": mine["iid"],
        "source_project_id": mine["source_project_id"],
        "source_branch": mine["source_branch"],
        "target_project_id": around.project.id,
        "target_branch": mine["target_branch"],
        "author_id": mine["author_id"],
        "assignee_id": next(iter(mine["assignee_ids"]), None),
        "assignee_ids": mine["assignee_ids"],
        "reviewer_ids": mine["reviewer_ids"],
        "title": mine["title"],
        "description": mine["description"],
        "created_at": created,
        "updated_at": updated,
        "prepared_at": created,
        "merged_at": at,
        "last_edited_at": None,
        "last_edited_by_id": None,
        "updated_by_id": None,
        "milestone_id": mine.get("milestone_id"),
        "state": mine["state"],
        "state_id": STATE_IDS[State(mine["state"])],
        "draft": is_draft(mine["title"]),
        "work_in_progress": is_draft(mine["title"]),
        "blocking_discussions_resolved": facts.get("discussions_resolved", True),
        "first_contribution": facts.get("first_contribution", False),
        "target_branch_protected": facts.get("target_protected", False),
        "merge_status": mine["merge_status"],
        "merge_error": mine["merge_error"] or None,
        "merge_commit_sha": mine["merge_commit_sha"] or None if merged else None,
        "squash_commit_sha": mine["squash_commit_sha"] or None if merged else None,
        "merge_user_id": mine["merge_user_id"] if merged else None,
        "merge_when_pipeline_succeeds": bool(mine["auto_merge"]),
        "merge_params": {"force_remove_source_branch": mine["remove_source_branch"]},
        "time_estimate": 0,
        "total_time_spent": 0,
        "time_change": 0,
        "human_time_estimate": None,
        "human_total_time_spent": None,
        "human_time_change": None,
        "url": f"{url}/{around.project.full_path}/-/merge_requests/{mine['iid']}",
        "source": None if around.source is None else parts.project(around.source, url),
        "target": parts.project(around.project, url),
        "labels": _labels(mine["labels"], around),
        "last_commit": _commit(facts["commit"], around, url),
        "head_pipeline_id": facts["head_pipeline_id"],
        "detailed_merge_status": facts["detailed_merge_status"],
    }


def _commit(commit: dict[str, Any] | None, around: Around, url: str) -> dict[str, Any] | None:
    if commit is None:
        return None
    path = (around.source or around.project).full_path
    return parts.placed_commit(commit, f"{url}/{path}")


def _change(name: str, both: list[Any], around: Around) -> dict[str, Any]:
    previous, current = (_shown(name, side, around) for side in both)
    return {"previous": previous, "current": current}


def _shown(name: str, side: Any, around: Around) -> Any:
    if name in _LISTS:
        return _people(side, around)
    if name == "labels":
        return _labels(side, around)
    return plain(read(side)) if name == "updated_at" else side


def _labels(titles: list[str], around: Around) -> list[dict[str, Any]]:
    """Those of these labels that are there still."""
    return [_label(around.labels[title]) for title in titles if title in around.labels]


def _label(row: LabelRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.name,
        "color": row.color,
        "project_id": row.project_id,
        "created_at": plain(row.created_at),
        "updated_at": plain(row.updated_at),
        "template": False,
        "description": row.description or None,
        "type": "ProjectLabel" if row.namespace_id is None else "GroupLabel",
        "group_id": row.namespace_id,
    }


def _people(keys: list[int], around: Around) -> list[dict[str, Any]]:
    """Those of these people that are there."""
    found = (parts.person(around.user(key)) for key in keys)
    return [person for person in found if person is not None]
