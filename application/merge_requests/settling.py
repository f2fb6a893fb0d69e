"""What is written once a merge request is merged, by whomever."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests import news
from application.merge_requests.news import Cause
from application.services import Services
from domain.merge_requests.merge_request import AutoMerge, State
from domain.merge_requests.news import News
from models.repositories.accounts.accounts import get as account
from models.repositories.installation import audit
from models.repositories.installation.audit import Author, Entity, Happened
from models.repositories.merge_requests import merge_request_events, merge_requests, trains
from models.repositories.projects import projects
from models.rows.merge_requests import MergeRequestRow


async def settle_merged(
    services: Services,
    connection: AsyncConnection,
    row: MergeRequestRow,
    now: datetime,
    *,
    merge_user_id: int | None = None,
) -> None:
    """A merge request is merged; what follows is noted. `row` is locked; what is not given stays as it was planned."""
    user_id = merge_user_id or row.merge_user_id or row.author_id
    await merge_requests.change(
        connection,
        row.id,
        now,
        state=State.MERGED,
        merged_at=now,
        merge_user_id=user_id,
        merge_error="",
        auto_merge=AutoMerge.NONE,
        locked_at=None,
    )
    await trains.arrive(connection, row.id, row.merging_sha, now)
    if row.merge_options.get("remove_source_branch"):
        kind = merge_request_events.REMOVE_BRANCH
        await merge_request_events.put(connection, row.id, user_id, kind, row.head_sha, now)
    await _audit(connection, row, user_id, now)
    await news.note(services, connection, row, News.MERGE, Cause(user_id), now)


async def _audit(connection: AsyncConnection, row: MergeRequestRow, user_id: int, now: datetime) -> None:
    project, user = await projects.find(connection, row.project_id), await account(connection, user_id)
    if project is None:
        return
    entity, author = Entity("project", project.id, project.full_path), Author(user.id, user.name)
    facts = {"iid": row.iid, "source_branch": row.source_branch, "target_branch": row.target_branch}
    happened = Happened("merge_request_merged", {**facts, "head_sha": row.head_sha})
    await audit.add(connection, author, entity, happened, now)
