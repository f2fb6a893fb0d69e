"""Bodies of Push Hooks and Tag Push Hooks, and of what system hooks hear of a push as a whole."""

from typing import Any, Final

from activities.hooks import parts
from domain.hooks.webhooks import Event
from models.repositories.hooks.hook_facts import Around
from models.rows.hooks import EventDeliveryRow

_NOTHING: Final = "0"


def push_body(row: EventDeliveryRow, around: Around, url: str) -> dict[str, Any]:
    """The body for a ref that was pushed; commits were noted when it was (`application.pushes.push_events`)."""
    facts, user = row.facts, around.user(row.user_id)
    page = f"{url}/{around.project.full_path}"
    kind = "push" if row.kind == Event.PUSH else "tag_push"
    is_gone = not facts["after"].strip(_NOTHING)
    return {
        "object_kind": kind,
        "event_name": kind,
        "before": facts["before"],
        "after": facts["after"],
        "ref": facts["ref"],
        "ref_protected": facts["ref_protected"],
        "checkout_sha": None if is_gone else facts["checkout_sha"],
        "message": facts["message"] or None,
        "user_id": row.user_id,
        "user_name": "" if user is None else user.name,
        "user_username": "" if user is None else user.username,
        "user_email": None,
        "user_avatar": None,
        "project_id": around.project.id,
        "project": parts.project(around.project, url),
        "commits": [parts.placed_commit(commit, page) for commit in facts["commits"]],
        "total_commits_count": facts["total"],
        "push_options": facts.get("push_options", {}),  # facts of an older process have none
        "repository": parts.repository(around.project, url),
    }


def repository_body(row: EventDeliveryRow, around: Around, url: str) -> dict[str, Any]:
    """The body for a push as a whole: every ref that it moved. Only administrators get it, so it names the address."""
    user, changes = around.user(row.user_id), row.facts["changes"]
    return {
        "event_name": "repository_update",
        "user_id": row.user_id,
        "user_name": "" if user is None else user.name,
        "user_email": None if user is None else user.email,
        "user_avatar": None,
        "project_id": around.project.id,
        "project": parts.project(around.project, url),
        "changes": changes,
        "refs": [change["ref"] for change in changes],
    }
