"""Approvals that are taken away all at once: what was approved is not what would be merged."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests import news
from application.merge_requests.context import MergeContext
from application.merge_requests.news import Cause
from application.merge_requests.standing import missing
from application.services import Services
from domain.merge_requests.news import of_withdrawal
from domain.merge_requests.notes import mentioned
from models.repositories.merge_requests import merge_requests

PUSHED: Final = "pushing to the branch"


async def withdraw_all(
    services: Services, connection: AsyncConnection, here: MergeContext, cause: Cause, now: datetime, *, why: str
) -> None:
    """Take every approval of a merge request away, and tell of it; nothing where there is none. `why`: by what."""
    given = await merge_requests.approvals(connection, here.row.id)
    if not given:
        return
    await merge_requests.unapprove(connection, here.row.id)
    row = await merge_requests.get(connection, here.row.id)
    if row is None:
        return
    names = mentioned([person.username for person in given])
    told = replace(cause, note=f"reset approvals from {names} by {why}")
    await news.note(services, connection, row, of_withdrawal(was_enough=not missing(here, given)), told, now)
