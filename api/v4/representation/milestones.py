"""Milestones as GitLab's JSON."""

from datetime import date
from typing import NotRequired

from typing_extensions import TypedDict

from domain.moments import moment
from models.rows.labels import MilestoneRow
from models.rows.namespaces import NamespaceRow


class MilestoneResponse(TypedDict):
    """A milestone; it tells its group or its project, whichever it belongs to."""

    id: int
    iid: int
    group_id: NotRequired[int | None]
    project_id: NotRequired[int]
    title: str
    description: str
    state: str
    created_at: str
    updated_at: str
    due_date: str | None
    start_date: str | None
    expired: bool
    web_url: str


class _Owner(TypedDict, total=False):
    group_id: int | None
    project_id: int


def web_url(url: str, project_path: str, group: NamespaceRow | None) -> str:
    """The address of the pages of the project, or else of the group, that a milestone belongs to."""
    place = project_path if group is None else f"groups/{group.full_path}"
    return f"{url}/{place}/-"


def milestone(row: MilestoneRow, pages: str, today: date) -> MilestoneResponse:
    """A milestone; `pages` is the address of the pages of its project or group."""
    owner: _Owner = {"group_id": row.namespace_id} if row.project_id is None else {"project_id": row.project_id}
    return {
        "id": row.id,
        "iid": row.iid,
        **owner,
        "title": row.title,
        "description": row.description,
        "state": row.state,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "due_date": None if row.due_date is None else row.due_date.isoformat(),
        "start_date": None if row.start_date is None else row.start_date.isoformat(),
        "expired": row.due_date is not None and row.due_date < today,
        "web_url": f"{pages}/milestones/{row.iid}",
    }
