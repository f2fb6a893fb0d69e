"""What webhooks are told of notes on merge requests and on commits, in the transaction in which they are written."""

from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests.context import MergeContext, around
from application.merge_requests.news import facts_of
from application.services import Services
from domain.hooks.webhooks import Event, wants
from git.reading.commit_facts import find_commit_facts
from models.repositories.hooks import webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.repositories.merge_requests import merge_requests
from models.rows.commit_comments import CommitCommentRow
from models.rows.merge_request_notes import MergeRequestNoteRow

CREATE, UPDATE = "create", "update"
"""What somebody did with a note."""


async def tell_of_note(
    services: Services, connection: AsyncConnection, note: MergeRequestNoteRow, action: str, now: datetime
) -> None:
    """Note that somebody wrote on a merge request, or changed what they wrote."""
    row = await merge_requests.get(connection, note.merge_request_id)
    if row is None or not wants(await webhook_events.watched(connection, row.project_id), _kind_of(note)):
        return
    here = await around(services, connection, row)
    await webhook_events.note(connection, [await happening_of_note(connection, here, note, action)], now)


async def happening_of_note(
    connection: AsyncConnection, here: MergeContext, note: MergeRequestNoteRow, action: str
) -> Happening:
    """What is told of a note on a merge request."""
    told = {
        "id": note.id,
        "note": note.body,
        "author_id": note.author_id,
        "type": note.kind or None,
        "discussion_id": note.discussion,
        "noteable_id": note.merge_request_id,
        "commit_id": None,
        "position": None if note.position is None else dict(note.position),
        "resolved_at": None if note.resolved_at is None else note.resolved_at.isoformat(),
        "resolved_by_id": note.resolved_by_id,
        "created_at": note.created_at.isoformat(),
        "updated_at": note.updated_at.isoformat(),
    }
    facts = {**await facts_of(connection, here), "note": told, "action": action}
    return Happening(here.row.project_id, _kind_of(note), note.author_id, facts=facts)


def _kind_of(note: MergeRequestNoteRow) -> Event:
    return Event.CONFIDENTIAL_NOTE if note.internal else Event.NOTE


async def tell_of_comment(
    services: Services, connection: AsyncConnection, comment: CommitCommentRow, now: datetime
) -> None:
    """Note that somebody wrote on a commit; such comments are not changed."""
    if wants(await webhook_events.watched(connection, comment.project_id), Event.NOTE):
        await webhook_events.note(connection, [await happening_of_comment(services, comment)], now)


async def happening_of_comment(services: Services, comment: CommitCommentRow) -> Happening:
    """What is told of a comment on a commit."""
    told: dict[str, Any] = {
        "id": comment.id,
        "note": comment.note,
        "author_id": comment.author_id,
        "type": "DiffNote" if comment.path else None,
        "discussion_id": None,
        "noteable_id": None,
        "commit_id": comment.sha,
        "position": _position(comment) if comment.path else None,
        "resolved_at": None,
        "resolved_by_id": None,
        "created_at": comment.created_at.isoformat(),
        "updated_at": comment.created_at.isoformat(),
    }
    commit = await find_commit_facts(services.repositories.get(comment.project_id), comment.sha)
    facts = {"note": told, "action": CREATE, "commit": commit}
    return Happening(comment.project_id, Event.NOTE, comment.author_id, facts=facts)


def _position(comment: CommitCommentRow) -> dict[str, Any]:
    lines = {"new_line": None, "old_line": None, f"{comment.line_type or 'new'}_line": comment.line}
    return {"position_type": "text", "new_path": comment.path, "old_path": comment.path, **lines}
