"""Events of people and projects as GitLab's JSON."""

from typing import NotRequired

from typing_extensions import TypedDict

from api.v4.representation.people import PersonResponse, person
from domain.moments import moment
from domain.projects.contributions import Action, action_name
from models.rows.accounts import UserRow
from models.rows.contributions import ContributionRow


class PushDataResponse(TypedDict):
    """What was pushed: to one ref, or of a push of many refs how many they were."""

    ref: str | None
    action: str
    ref_type: str
    commit_to: str | None
    ref_count: int | None
    commit_from: str | None
    commit_count: int
    commit_title: str | None


class EventResponse(TypedDict):
    """What somebody did."""

    id: int
    project_id: int
    action_name: str
    target_id: int | None
    target_iid: int | None
    target_type: str | None
    author_id: int
    target_title: str | None
    title: None
    created_at: str
    author: PersonResponse
    author_username: str
    imported: bool
    imported_from: str
    push_data: NotRequired[PushDataResponse]


def event(row: ContributionRow, author: UserRow, url: str) -> EventResponse:
    """What somebody did."""
    document: EventResponse = {
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
    }
    if row.action == Action.PUSHED:
        document["push_data"] = {
            "ref": row.push["ref"],
            "action": row.push["action"],
            "ref_type": row.push["ref_type"],
            "commit_to": row.push["commit_to"],
            "ref_count": row.push["ref_count"],
            "commit_from": row.push["commit_from"],
            "commit_count": row.push["commit_count"],
            "commit_title": row.push["commit_title"],
        }
    return document
