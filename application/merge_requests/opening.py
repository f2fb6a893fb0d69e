"""Opening merge requests: the branches are looked up, the row and the note of its pipeline are one transaction."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import structlog

from application.access import ProjectAccess
from application.audit import record
from application.merge_requests import news
from application.merge_requests.context import Heads, bring_head
from application.merge_requests.news import Cause
from application.merge_requests.pipelines import carry_out
from application.merge_requests.telling import tell
from application.services import Services
from domain.errors import FieldsInvalid, PerdureError, Unmergeable
from domain.merge_requests.merge_request import EventType, ref_of
from domain.merge_requests.news import News
from git.reading.revision import commit_named
from git.repository import Repository
from models.notifications import MERGES
from models.repositories.installation.audit import Happened
from models.repositories.merge_requests import merge_request_events, merge_requests
from models.rows.projects import ProjectRow

log = structlog.get_logger()

SAME: str = "You can't use same project/branch for source and target"
NO_FORK: str = "Source project is not a fork of the target project"


@dataclass(frozen=True, slots=True)
class NewMergeRequest:
    """What somebody wants merged."""

    source_branch: str
    target_branch: str
    title: str
    description: str = ""
    labels: Sequence[str] = ()
    milestone_id: int | None = None
    assignee_ids: Sequence[int] = ()
    reviewer_ids: Sequence[int] = ()
    squash: bool = False
    remove_source_branch: bool = False


async def open_merge_request(
    services: Services, source: ProjectAccess, target: ProjectAccess, new: NewMergeRequest
) -> int:
    """Open a merge request, with its pipeline; its id.

    Raises `Refused` when one of these branches is open, `Unmergeable` for projects or branches that do not belong
    together, `Invalid` for a branch that is not there.
    """
    if source.row.id == target.row.id and new.source_branch == new.target_branch:
        raise Unmergeable(SAME)
    if not _related(source.row, target.row):
        raise Unmergeable(NO_FORK)
    heads = await _heads(services, source.row, target.row, new)
    now, user_id = services.clock(), source.caller.user_id
    repository = services.repositories.get(target.row.id)
    async with services.database.write() as connection:
        iid = await merge_requests.next_iid(connection, target.row.id)
        opened = await merge_requests.create(
            connection,
            now,
            iid=iid,
            project_id=target.row.id,
            source_project_id=source.row.id,
            author_id=user_id,
            **_columns(new),
            **asdict(heads),
        )
        await repository.place(ref_of(iid, EventType.DETACHED), heads.head_sha)
        kind = merge_request_events.PIPELINE
        event_id = await merge_request_events.put(connection, opened.id, user_id, kind, heads.head_sha, now)
        happened = Happened("merge_request_opened", {"iid": iid, "source_branch": new.source_branch})
        await record(connection, source.caller, target.entity, happened, now)
        await news.note(services, connection, opened, News.OPEN, Cause(user_id), now)
    await make_pipeline(services, event_id)
    await services.notifications.notify(MERGES)
    await tell(services, opened.id, target.row.id)
    return opened.id


def _columns(new: NewMergeRequest) -> dict[str, Any]:
    return {
        "source_branch": new.source_branch,
        "target_branch": new.target_branch,
        "title": new.title,
        "description": new.description,
        "labels": list(new.labels),
        "milestone_id": new.milestone_id,
        "assignee_ids": list(new.assignee_ids),
        "reviewer_ids": list(new.reviewer_ids),
        "squash": new.squash,
        "remove_source_branch": new.remove_source_branch,
    }


def _related(source: ProjectRow, target: ProjectRow) -> bool:
    """The same project, a fork and what it is a fork of, or two forks of the same."""
    origins = {source.forked_from_id or source.id, target.forked_from_id or target.id}
    return source.id == target.id or len(origins) == 1


async def _heads(services: Services, source: ProjectRow, target: ProjectRow, new: NewMergeRequest) -> Heads:
    head = await _head(services.repositories.get(source.id), new.source_branch, "source_branch")
    await _head(services.repositories.get(target.id), new.target_branch, "target_branch")
    return await bring_head(services, target.id, source.id, head, new.target_branch)


async def _head(repository: Repository, branch: str, name: str) -> str:
    sha = await commit_named(repository, f"refs/heads/{branch}") if branch else None
    if sha is None:
        raise FieldsInvalid(**{name: f"is invalid: there is no branch {branch!r}"})
    return sha


async def make_pipeline(services: Services, event_id: int) -> None:
    """Make the pipeline of an event now; one that cannot be made now is made later, by the loop."""
    async with services.database.read() as connection:
        event = await merge_request_events.get(connection, event_id)
    if event is None:
        return
    try:
        await carry_out(services, event)
    except PerdureError as error:
        log.warning("the pipeline of a merge request is made later", row=event_id, error=str(error))
