"""Events of people and projects as GitLab's JSON."""

from typing import Any

from api.v4.representation.people import person
from domain.moments import moment
from domain.projects.contributions import Action, action_name


def event(row: Any, author: Any, url: str) -> dict[str, Any]:
    """What somebody did: `row` is a `Contribution`, `author` the row of an account."""
    return {
        "id": row.id,
        "project_id": row.project_id,
        "action_name": action_name(row.action, row.target_type, row.push),
        "target_id": row.target_id,
        "target_iid": row.target_iid,
        "target_type": row.target_type or None,
        "author_id": row.author_id,
        "target_title": row.target_title or None,
        "title": None,
        "created_at": moment(row.created_at),
        "author": person(author, url),
        "author_username": author.username,
        "imported": False,
        "imported_from": "none",
        **({"push_data": row.push} if row.action == Action.PUSHED else {}),
    }
