"""Bodies of Merge Request Hooks: the merge request as it was when the event was noted, and what was changed."""

from collections.abc import Mapping
from typing import Any, Final

from activities.hooks import parts
from activities.hooks.moments import iso, plain, read
from domain.merge_requests.merge_request import State, is_draft
from domain.merge_requests.news import STATE_IDS
from models.repositories.hooks.hook_facts import Around
from models.rows.hooks import EventDeliveryRow

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
            **_attributes(mine, around, url),
            "last_commit": _commit(facts["commit"], around, url),
            "head_pipeline_id": facts["head_pipeline_id"],
            "detailed_merge_status": facts["detailed_merge_status"],
            **_action(facts),
        },
        "labels": _labels(mine["labels"], around),
        "changes": {_LISTS.get(name, name): _change(name, both, around) for name, both in facts["changes"].items()},
        "repository": _repository(around, url),
        "assignees": _people(mine["assignee_ids"], around),
        "reviewers": _people(mine["reviewer_ids"], around),
    }


def _action(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What happened; a test has no action."""
    found: dict[str, Any] = {"action": facts["action"]} if facts["action"] else {}
    if facts["oldrev"]:
        found["oldrev"] = facts["oldrev"]
    if facts["system_action"]:
        found |= {"system": True, "system_action": facts["system_action"]}
    return found


def _attributes(mine: dict[str, Any], around: Around, url: str) -> dict[str, Any]:
    merged = mine["state"] == State.MERGED
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
        "created_at": iso(read(mine["created_at"])),
        "updated_at": iso(read(mine["updated_at"])),
        "prepared_at": iso(read(mine["created_at"])),
        "milestone_id": mine.get("milestone_id"),  # facts of an older process have none
        "state": mine["state"],
        "state_id": STATE_IDS[State(mine["state"])],
        "draft": is_draft(mine["title"]),
        "work_in_progress": is_draft(mine["title"]),
        "blocking_discussions_resolved": True,
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
    }


def _commit(commit: dict[str, Any] | None, around: Around, url: str) -> dict[str, Any] | None:
    if commit is None:
        return None
    path = (around.source or around.project).full_path
    return {**commit, "url": f"{url}/{path}/-/commit/{commit['id']}"}


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
    """Labels have a title and no more here; the other fields are what receivers look for."""
    return [
        {"title": title, "description": None, "type": "ProjectLabel", "project_id": around.project.id, "group_id": None}
        for title in titles
    ]


def _people(keys: list[int], around: Around) -> list[dict[str, Any]]:
    """Those of these people that are there."""
    found = (parts.person(around.user(key)) for key in keys)
    return [person for person in found if person is not None]


def _repository(around: Around, url: str) -> dict[str, Any]:
    found = parts.repository(around.project, url)
    return {name: found[name] for name in ("name", "url", "description", "homepage")}
