"""Bodies of Note Hooks: what somebody wrote on a merge request or a commit."""

from typing import Any

from activities.hooks import parts
from activities.hooks.merge_request_body import request_attributes
from activities.hooks.moments import plain, read
from domain.hooks.webhooks import Event
from models.repositories.hooks.hook_facts import Around
from models.rows.hooks import EventDeliveryRow


def note_body(row: EventDeliveryRow, around: Around, url: str) -> dict[str, Any]:
    """The body for an event of a note (`application.hooks.note_news`)."""
    facts, page = row.facts, f"{url}/{around.project.full_path}"
    note = facts["note"]
    about: dict[str, Any]
    if "merge_request" in facts:
        about = {"merge_request": request_attributes(facts, around, url)}
        place = f"merge_requests/{facts['merge_request']['iid']}"
    else:
        commit = facts["commit"]
        about = {"commit": None if commit is None else parts.placed_commit(commit, page)}
        place = f"commit/{note['commit_id']}"
    return {
        "object_kind": "note",
        "event_type": "note" if row.kind == Event.NOTE else "confidential_note",
        "user": parts.person(around.user(row.user_id)),
        "project_id": around.project.id,
        "project": parts.project(around.project, url),
        "object_attributes": {
            "attachment": None,
            "author_id": note["author_id"],
            "change_position": None,
            "commit_id": note["commit_id"],
            "created_at": plain(read(note["created_at"])),
            "discussion_id": note["discussion_id"],
            "id": note["id"],
            "internal": row.kind == Event.CONFIDENTIAL_NOTE,
            "line_code": None,
            "note": note["note"],
            "noteable_id": note["noteable_id"],
            "noteable_type": "MergeRequest" if "merge_request" in facts else "Commit",
            "original_position": note["position"],
            "position": note["position"],
            "project_id": around.project.id,
            "resolved_at": plain(read(note["resolved_at"])),
            "resolved_by_id": note["resolved_by_id"],
            "resolved_by_push": None,
            "st_diff": None,
            "system": False,
            "type": note["type"],
            "updated_at": plain(read(note["updated_at"])),
            "updated_by_id": None,
            "description": note["note"],
            "url": f"{page}/-/{place}#note_{note['id']}",
            "action": facts["action"],
        },
        "repository": parts.short_repository(around.project, url),
        **about,
    }
