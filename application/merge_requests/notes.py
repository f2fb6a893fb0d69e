"""Writing on merge requests: notes by themselves, threads and answers; changed, resolved and deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from application.hooks.note_news import CREATE, UPDATE, tell_of_note
from application.limits.actions import Limited
from application.merge_requests.context import MergeContext
from application.merge_requests.telling import tell
from application.services import Services
from domain.errors import Invalid, NotFound
from domain.merge_requests.notes import MAX_NOTES, Kind
from models.notifications import MERGES
from models.repositories.merge_requests import merge_request_notes, merge_requests
from models.repositories.merge_requests.merge_request_notes import NoteFilter
from models.repositories.paging import first_of
from models.repositories.texts import rendered_texts
from models.rows.merge_request_notes import MergeRequestNoteRow, NoteHeading


@dataclass(frozen=True, slots=True)
class NewNote:
    """What somebody writes. Without `created_at` it is written now."""

    body: str
    author_id: int
    internal: bool = False
    created_at: datetime | None = None
    position: Mapping[str, Any] | None = None


async def write_note(services: Services, here: MergeContext, new: NewNote) -> MergeRequestNoteRow:
    """Write a note that stands by itself; its row. Raises `Invalid` when there are too many, `TooMany`."""
    services.limits.note(Limited.NOTE, new.author_id)
    async with services.database.write() as connection:
        thread = merge_request_notes.new_discussion()
        row = await _write(services, connection, here, new, Kind.INDIVIDUAL, thread)
    services.renderings.written(rendered_texts.NOTES, row.id, row.body)
    await tell(services, here.row.id, here.target.id)
    return row


async def begin_discussion(services: Services, here: MergeContext, new: NewNote) -> MergeRequestNoteRow:
    """Write the first note of a thread, of the lines that `position` names or of all; its row.

    Raises `Invalid`, `TooMany`.
    """
    services.limits.note(Limited.NOTE, new.author_id)
    kind = Kind.THREAD if new.position is None else Kind.DIFF
    async with services.database.write() as connection:
        row = await _write(services, connection, here, new, kind, merge_request_notes.new_discussion())
    services.renderings.written(rendered_texts.NOTES, row.id, row.body)
    await tell(services, here.row.id, here.target.id)
    return row


async def answer(
    services: Services, here: MergeContext, seen: NoteFilter, discussion: str, new: NewNote
) -> MergeRequestNoteRow:
    """Write a further note of a thread, about what the first one is; its row. Raises `NotFound`, `Invalid`, `TooMany`.

    A note that stood by itself becomes a thread with its first answer, as in GitLab.
    """
    services.limits.note(Limited.NOTE, new.author_id)
    async with services.database.write() as connection:
        first = await first_of(connection, merge_request_notes.in_thread(seen, discussion))
        if first is None:
            raise NotFound("Discussion Not Found")
        if first.system:
            raise Invalid("Bad request: what the server noted cannot be answered.")
        await merge_request_notes.begin_thread(connection, first)
        kind = Kind.DIFF if first.kind == Kind.DIFF else Kind.THREAD
        mine = NewNote(new.body, new.author_id, first.internal, new.created_at, first.position)
        row = await _write(services, connection, here, mine, kind, discussion)
    services.renderings.written(rendered_texts.NOTES, row.id, row.body)
    await tell(services, here.row.id, here.target.id)
    return row


async def _write(
    services: Services,
    connection: AsyncConnection,
    here: MergeContext,
    new: NewNote,
    kind: Kind,
    discussion: str,
) -> MergeRequestNoteRow:
    now = services.clock()
    if await merge_requests.lock(connection, here.row.id) is None:
        raise NotFound("Merge Request Not Found")
    if await merge_request_notes.count(connection, here.row.id) >= MAX_NOTES:
        raise Invalid(f"Bad request: a merge request has at most {MAX_NOTES} notes; write on another one.")
    await merge_requests.change(connection, here.row.id, now)
    written = new.created_at or now
    row = await merge_request_notes.add(
        connection,
        now,
        merge_request_id=here.row.id,
        discussion=discussion,
        author_id=new.author_id,
        body=new.body,
        kind=kind,
        system=False,
        internal=new.internal,
        resolvable=kind is not Kind.INDIVIDUAL,
        position=new.position,
        created_at=written,
        updated_at=written,
    )
    await tell_of_note(services, connection, row, CREATE, now)
    return row


async def change_body(services: Services, note: MergeRequestNoteRow, body: str, user_id: int) -> MergeRequestNoteRow:
    """Write another text of a note, as whoever does it; its row. Raises `NotFound`, `TooMany`."""
    services.limits.note(Limited.NOTE, user_id)
    async with services.database.write() as connection:
        now = services.clock()
        row = await merge_request_notes.change(connection, note.id, body=body, updated_at=now)
        if body != note.body:
            await tell_of_note(services, connection, row, UPDATE, now)
    services.renderings.written(rendered_texts.NOTES, row.id, row.body)
    await tell(services, note.merge_request_id)
    return row


async def resolve(
    services: Services, notes: Sequence[MergeRequestNoteRow | NoteHeading], user_id: int, *, resolved: bool
) -> None:
    """Resolve notes, or take that back; what waits for it may be merged then. Raises `Invalid` when none can be."""
    if not any(note.resolvable for note in notes):
        raise Invalid("Bad request: only threads can be resolved; this note stands by itself.")
    async with services.database.write() as connection:
        await merge_request_notes.resolve(connection, notes, user_id, services.clock(), resolved=resolved)
    await services.notifications.notify(MERGES)
    for merge_request_id in {note.merge_request_id for note in notes}:
        await tell(services, merge_request_id)


async def delete_note(services: Services, note: MergeRequestNoteRow) -> None:
    """Delete a note; the thread goes with its last one, and what waits for it may be merged then."""
    async with services.database.write() as connection:
        await merge_request_notes.remove(connection, note.id)
    await services.notifications.notify(MERGES)
    await tell(services, note.merge_request_id)
