"""What of merge requests people are told by e-mail and in chats, noted in the transaction of what happened."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.merge_requests.merge_request import State, is_draft
from domain.merge_requests.news import News
from domain.notifications.occasions import Occasion
from models.repositories.hooks import webhook_events
from models.repositories.notifications import notices
from models.repositories.notifications.notices import TOLD, Noticed
from models.repositories.projects import projects
from models.rows.merge_requests import MergeRequestRow

_OCCASIONS: Final[Mapping[News, Occasion]] = {News.APPROVED: Occasion.APPROVED, News.MERGE: Occasion.MERGED}
_ASKING: Final = frozenset({News.OPEN, News.REOPEN, News.UPDATE, News.UNAPPROVED})
"""News after which a merge request may need approval by somebody who did not know."""


async def notice(
    connection: AsyncConnection,
    before: MergeRequestRow,
    after: MergeRequestRow,
    news: News,
    user_id: int,
    watched: int,
    now: datetime,
) -> None:
    """Note news of a merge request; `watched` is what of its project is watched."""
    if not watched & TOLD:
        return
    kind = _OCCASIONS.get(news)
    facts: dict[str, Any] = {"title": after.title}
    if kind is None:
        asked = _asked(before, after, news)
        if asked is None or not await _needs_approval(connection, after):
            return
        kind, facts = Occasion.APPROVAL_NEEDED, {**facts, "reviewers": asked}
    await _put(connection, after, kind, user_id, facts, now)


def _asked(before: MergeRequestRow, after: MergeRequestRow, news: News) -> list[int] | None:
    """The reviewers who are to approve and were not asked yet; None where nobody is asked."""
    if news not in _ASKING or after.state != State.OPENED or is_draft(after.title):
        return None
    reviewers = [*after.reviewer_ids]
    if news is not News.UPDATE or is_draft(before.title):
        return reviewers
    return [key for key in reviewers if key not in before.reviewer_ids] or None


async def _needs_approval(connection: AsyncConnection, row: MergeRequestRow) -> bool:
    project = await projects.find(connection, row.project_id)
    return project is not None and project.approvals_required > 0


async def auto_merge_failed(
    connection: AsyncConnection, row: MergeRequestRow, why: str, user_id: int | None, now: datetime
) -> None:
    """A merge that was to happen by itself was given up. `row` is from before; `user_id` is whose doing that is."""
    if not await webhook_events.watched(connection, row.project_id) & TOLD:
        return
    facts = {"title": row.title, "why": f"{why[:1].upper()}{why[1:]}.", "asked_by": row.auto_merge_user_id}
    await _put(connection, row, Occasion.AUTO_MERGE_FAILED, user_id, facts, now)


async def _put(
    connection: AsyncConnection,
    row: MergeRequestRow,
    kind: Occasion,
    user_id: int | None,
    facts: Mapping[str, Any],
    now: datetime,
) -> None:
    noticed = Noticed(row.project_id, kind, user_id, merge_request_id=row.id, facts=facts)
    await notices.put(connection, [noticed], now)
