"""What the server notes on merge requests when something happens to them, in the transaction of what happened."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from domain.errors import PerdureError
from domain.merge_requests.news import News
from domain.merge_requests.notes import MAX_COMMITS, of_assignees, of_commits, of_news, of_reviewers
from git.reading.history import HistoryQuery, commits
from models.repositories.merge_requests import merge_request_notes
from models.repositories.projects import relations
from models.rows.merge_requests import MergeRequestRow


async def write(
    services: Services,
    connection: AsyncConnection,
    before: MergeRequestRow,
    after: MergeRequestRow,
    news: News,
    user_id: int,
    now: datetime,
    *,
    oldrev: str = "",
    instead: str = "",
) -> None:
    """Note what is new on a merge request, which was `before`; `oldrev` is where its branch was before a push.

    `instead` is what is noted where the news has other words.
    """
    said = [instead] if instead else of_news(news, before, after)
    if news is News.UPDATE:
        said += await _of_people(connection, before, after)
        if oldrev:
            said.append(await _of_push(services, after, oldrev))
    for body in said:
        if body:
            await merge_request_notes.add_system(connection, after.id, user_id, body, now)


async def _of_people(connection: AsyncConnection, before: MergeRequestRow, after: MergeRequestRow) -> list[str]:
    if before.assignee_ids == after.assignee_ids and before.reviewer_ids == after.reviewer_ids:
        return []
    sides = (before, after)
    named = {key for side in sides for key in (*side.assignee_ids, *side.reviewer_ids)}
    known = await relations.users(connection, named)

    def names(keys: Sequence[int]) -> list[str]:
        return [known[key].username for key in keys if key in known]

    return [
        of_assignees(*(names(side.assignee_ids) for side in sides)),
        of_reviewers(*(names(side.reviewer_ids) for side in sides)),
    ]


async def _of_push(services: Services, after: MergeRequestRow, oldrev: str) -> str:
    """The commits that the source branch has now and had not; nothing for one that was only put back."""
    repository = services.repositories.get(after.project_id)
    query = HistoryQuery([after.head_sha, f"^{oldrev}"], limit=MAX_COMMITS + 1)
    with suppress(PerdureError):
        if found := await commits(repository, query):
            return of_commits([(one.sha, one.title) for one in reversed(found)])
    return ""
