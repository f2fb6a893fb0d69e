"""Changing what a merge request says, where it leads, and whether it is open."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests import news, noticing
from application.merge_requests.approvals import PUSHED, withdraw_all
from application.merge_requests.context import Heads, MergeContext, bring_head
from application.merge_requests.news import Cause
from application.merge_requests.opening import make_pipeline
from application.merge_requests.telling import tell
from application.services import Services
from domain.errors import FieldsInvalid, NotAllowed, NotFound, Unmergeable
from domain.merge_requests.merge_request import AutoMerge, EventType, State, is_draft
from domain.merge_requests.news import News
from domain.merge_requests.notes import of_auto_merge_given_up
from git.reading.revision import commit_named
from models.notifications import MERGES, OUTBOX
from models.repositories.merge_requests import merge_request_events, merge_request_notes, merge_requests, trains
from models.rows.merge_requests import MergeRequestRow

_NOWHERE = Heads("", "", "")


async def change(services: Services, here: MergeContext, values: Mapping[str, Any], user_id: int) -> None:
    """Write columns that people may change; another target branch is looked up. Raises `Invalid`, `Refused`."""
    heads = _NOWHERE
    target = values.get("target_branch", here.row.target_branch)
    if target != here.row.target_branch:
        if here.row.state != State.OPENED:
            raise NotAllowed("Method Not Allowed: only an open merge request can lead elsewhere.")
        if here.same_project and target == here.row.source_branch:
            raise Unmergeable("You can't use same project/branch for source and target")
        if await commit_named(here.repository, f"refs/heads/{target}") is None:
            raise FieldsInvalid(target_branch=f"is invalid: there is no branch {target!r}")
        heads = await bring_head(services, here.target.id, here.target.id, here.row.head_sha, target)
    now = services.clock()
    async with services.database.write() as connection:
        row = await merge_requests.lock(connection, here.row.id)
        if row is None:
            raise NotFound("Merge Request Not Found")
        if heads is not _NOWHERE:
            await merge_requests.require_free(connection, row, target)
        await merge_requests.change(connection, row.id, now, **values)
        if heads is not _NOWHERE:
            await _stop_waiting(connection, row, now, "its target branch was changed", user_id)
            moved = {"base_sha": heads.base_sha, "start_sha": heads.start_sha, "merge_status": "unchecked"}
            await merge_requests.move_heads(connection, row.id, now, **moved)
            why = "changing the target branch"  # they were for another one
            await withdraw_all(services, connection, here, Cause(user_id), now, why=why)
        elif is_draft(values.get("title", row.title)):
            await trains.leave(connection, row.id, now, "it was marked as a draft")
        await news.note(services, connection, row, News.UPDATE, Cause(user_id), now)
    await _tell(services, here)


async def close(services: Services, here: MergeContext, user_id: int) -> None:
    """Close an open merge request. Raises `NotAllowed` for one that is none."""
    now = services.clock()
    closed = {"state": State.CLOSED, "closed_at": now, "closed_by_id": user_id}
    async with services.database.write() as connection:
        if not await merge_requests.move_state(connection, here.row.id, State.OPENED, now, **closed):
            raise NotAllowed("Method Not Allowed: only an open merge request can be closed.")
        await _stop_waiting(connection, here.row, now, "the merge request is closed", user_id)
        await news.note(services, connection, here.row, News.CLOSE, Cause(user_id), now)
    await _tell(services, here)


async def reopen(services: Services, here: MergeContext, user_id: int) -> None:
    """Open a closed merge request again, at the head that its branch has by now, which gets its pipeline if it is new.

    Raises `NotAllowed` for one that is not closed, `Refused` when another one of its branches is open, `Unmergeable`
    without a source branch.
    """
    row = here.row
    source = services.repositories.get(here.source.id) if here.source is not None else None
    head = None if source is None else await commit_named(source, f"refs/heads/{row.source_branch}")
    if head is None or here.source is None:
        raise Unmergeable("The source branch does not exist any more; it cannot be reopened.")
    heads = await bring_head(services, here.target.id, here.source.id, head, row.target_branch)
    now = services.clock()
    opened = {"state": State.OPENED, "closed_at": None, "closed_by_id": None, "merge_status": "unchecked"}
    event_id = None
    async with services.database.write() as connection:
        await merge_requests.require_free(connection, row, row.target_branch)
        if not await merge_requests.move_state(connection, row.id, State.CLOSED, now, **opened, **asdict(heads)):
            raise NotAllowed("Method Not Allowed: only a closed merge request can be reopened.")
        await merge_requests.keep_version(connection, row.id, now)
        await here.repository.place(here.ref(EventType.DETACHED), head)
        if head != row.head_sha:
            kind = merge_request_events.PIPELINE
            event_id = await merge_request_events.put(connection, row.id, user_id, kind, head, now)
            if here.target.reset_approvals:
                await withdraw_all(services, connection, here, Cause(user_id), now, why=PUSHED)
        await news.note(services, connection, row, News.REOPEN, Cause(user_id), now)
    if event_id is not None:
        await make_pipeline(services, event_id)
    await _tell(services, here)


async def _stop_waiting(
    connection: AsyncConnection, row: MergeRequestRow, now: datetime, why: str, user_id: int
) -> None:
    if row.auto_merge:
        await merge_request_notes.add_system(connection, row.id, user_id, of_auto_merge_given_up(why), now)
        await noticing.auto_merge_failed(connection, row, why, user_id, now)
    await merge_requests.change(connection, row.id, now, auto_merge=AutoMerge.NONE)
    await trains.leave(connection, row.id, now, why)


async def _tell(services: Services, here: MergeContext) -> None:
    for topic in (MERGES, OUTBOX):
        await services.notifications.notify(topic)
    await tell(services, here.row.id, here.target.id)


async def delete(services: Services, here: MergeContext) -> None:
    """Delete a merge request that is not being merged; its pipelines stay. Raises `NotAllowed`."""
    now = services.clock()
    async with services.database.write() as connection:
        row = await merge_requests.lock(connection, here.row.id)
        if row is None or row.state == State.LOCKED:
            raise NotAllowed("Method Not Allowed: it is being merged at this moment.")
        await trains.leave(connection, row.id, now, "the merge request is deleted")
        await trains.forget(connection, row.id)
        await merge_request_events.forget(connection, row.id)
        await merge_requests.remove(connection, row.id)
    await _tell(services, here)
