"""Notes on merge requests: those of people and those of the server, one by one and by thread."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.merge_requests.notes import Kind
from models.columns import padded, table_of
from models.repositories import paging
from models.repositories.paging import Listing
from models.repositories.texts import rendered_texts
from models.rows.accounts import UserRow
from models.rows.merge_request_notes import MergeRequestNoteRow, NoteHeading
from models.tables.accounts import User
from models.tables.merge_request_notes import MergeRequestNote
from models.tables.merge_requests import MergeRequest
from models.typed_rows import all_of, first_of, one_of

note = table_of(MergeRequestNote)
merge_request = table_of(MergeRequest)
user = table_of(User)

_TO_RESOLVE: Final = note.c.resolvable & note.c.resolved_at.is_(None)


def new_discussion() -> str:
    """The id of a new thread."""
    return secrets.token_hex(20)


@dataclass(frozen=True, slots=True)
class NoteFilter:
    """Which notes of a merge request; `internal`: also those for members. `system` None is both kinds."""

    merge_request_id: int
    internal: bool
    system: bool | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """For `WHERE`."""
        found = [note.c.merge_request_id == self.merge_request_id]
        if not self.internal:
            found.append(~note.c.internal)
        if self.system is not None:
            found.append(note.c.system if self.system else ~note.c.system)
        return found


def listed(
    wanted: NoteFilter, order_by: str = "created_at", *, ascending: bool = False
) -> Listing[MergeRequestNoteRow]:
    """Statement for notes, ordered by one of their times."""
    column = note.c[order_by]
    ways = (column.asc(), note.c.id.asc()) if ascending else (column.desc(), note.c.id.desc())
    return Listing(select(note).where(*wanted.conditions()).order_by(*ways), MergeRequestNoteRow, (note.c.body,))


def found(project_id: int, text: str, *, internal: bool) -> Listing[MergeRequestNoteRow]:
    """Statement for what people wrote in a project that says a text, the newest first; `internal` as in the filter."""
    requests = select(merge_request.c.id).where(merge_request.c.project_id == project_id)
    statement = select(note).where(note.c.merge_request_id.in_(requests), ~note.c.system)
    statement = statement.where(note.c.body.icontains(text, autoescape=True)).order_by(note.c.id.desc())
    statement = statement if internal else statement.where(~note.c.internal)
    return Listing(statement, MergeRequestNoteRow, (note.c.body,))


async def newest(connection: AsyncConnection, project_id: int, *, internal: bool) -> MergeRequestNoteRow | None:
    """The newest note that people wrote in a project, of those for members or of the others; None if there is none."""
    requests = select(merge_request.c.id).where(merge_request.c.project_id == project_id)
    mine = note.c.merge_request_id.in_(requests) & ~note.c.system & (note.c.internal == internal)
    statement = select(note).where(mine).order_by(note.c.id.desc()).limit(1)
    return first_of(MergeRequestNoteRow, await connection.execute(statement))


@dataclass(frozen=True, slots=True)
class DiscussionRow:
    """A thread, by its id."""

    discussion: str


def discussions(wanted: NoteFilter, *, newest_first: bool = False) -> Listing[DiscussionRow]:
    """Statement for the ids of threads, the oldest first unless it is said otherwise."""
    of_each = select(note.c.discussion).where(*wanted.conditions()).group_by(note.c.discussion)
    begun = func.min(note.c.id)
    return Listing(of_each.order_by(begun.desc() if newest_first else begun), DiscussionRow)


async def of_discussions(
    connection: AsyncConnection, wanted: NoteFilter, ids: Collection[str]
) -> Mapping[str, Sequence[MergeRequestNoteRow]]:
    """The notes of threads by the id of the thread, the oldest first, in the order of `ids`."""
    found: dict[str, list[MergeRequestNoteRow]] = {key: [] for key in ids}
    if not found:
        return {}
    statement = select(note).where(*wanted.conditions(), note.c.discussion.in_(padded(ids))).order_by(note.c.id)
    for row in all_of(MergeRequestNoteRow, await connection.execute(statement)):
        found[row.discussion].append(row)
    return {key: rows for key, rows in found.items() if rows}


_HEADING: Final = [note.c[field.name] for field in fields(NoteHeading)]


@dataclass(frozen=True, slots=True)
class ThreadHead:
    """The first note of a thread, and how many it has."""

    discussion: str
    first: int
    notes: int


async def heads(connection: AsyncConnection, wanted: NoteFilter, ids: Collection[str]) -> Sequence[ThreadHead]:
    """What there is of these threads, the oldest first."""
    if not ids:
        return []
    first = func.min(note.c.id).label("first")
    statement = select(note.c.discussion, first, func.count().label("notes")).where(*wanted.conditions())
    statement = statement.where(note.c.discussion.in_(padded(ids))).group_by(note.c.discussion).order_by(first)
    return all_of(ThreadHead, await connection.execute(statement))


async def newest_answers(
    connection: AsyncConnection, wanted: NoteFilter, threads: Sequence[ThreadHead], most: int
) -> Sequence[int]:
    """The newest answers in these threads, all of them together."""
    answered = [thread for thread in threads if thread.notes > 1]
    if not answered:
        return []
    statement = select(note.c.id).where(*wanted.conditions())
    statement = statement.where(note.c.discussion.in_(padded([thread.discussion for thread in answered])))
    statement = statement.where(note.c.id.not_in(padded([thread.first for thread in answered])))
    return (await connection.execute(statement.order_by(note.c.id.desc()).limit(most))).scalars().all()


async def headings(connection: AsyncConnection, ids: Collection[int]) -> Sequence[NoteHeading]:
    """Notes without what they say, the oldest first."""
    if not ids:
        return []
    statement = select(*_HEADING).where(note.c.id.in_(padded(ids))).order_by(note.c.id)
    return all_of(NoteHeading, await connection.execute(statement))


def in_thread(wanted: NoteFilter, discussion: str) -> Listing[MergeRequestNoteRow]:
    """Statement for the notes of a thread, the oldest first."""
    statement = select(note).where(*wanted.conditions(), note.c.discussion == discussion).order_by(note.c.id)
    return Listing(statement, MergeRequestNoteRow, (note.c.body,))


def of_thread(wanted: NoteFilter, discussion: str) -> Listing[NoteHeading]:
    """Statement for the notes of a thread without what they say, the newest first."""
    statement = select(*_HEADING).where(*wanted.conditions(), note.c.discussion == discussion)
    return Listing(statement.order_by(note.c.id.desc()), NoteHeading)


async def thread_of(connection: AsyncConnection, wanted: NoteFilter, note_id: int) -> str:
    """The thread of a note. Raises `NotFound`."""
    statement = select(note.c.discussion).where(*wanted.conditions(), note.c.id == note_id)
    found = (await connection.execute(statement)).scalar()
    if found is None:
        raise NotFound("Note Not Found")
    return str(found)


async def open_threads(connection: AsyncConnection, merge_request_id: int) -> frozenset[str]:
    """The threads that are to be resolved."""
    statement = select(note.c.discussion).where(note.c.merge_request_id == merge_request_id, _TO_RESOLVE)
    return frozenset((await connection.execute(statement.distinct())).scalars())


async def require_size(connection: AsyncConnection, wanted: NoteFilter, ids: Collection[str]) -> None:
    """Raise `TooLarge` unless the notes of these threads go into one response."""
    texts = select(note.c.body).where(*wanted.conditions(), note.c.discussion.in_(padded(ids)))
    advice = "Ask for fewer threads at a time, with a smaller per_page, or for the notes of one (discussions/:id/notes)"
    await paging.require_size(connection, texts, advice)


async def of_discussion(
    connection: AsyncConnection, wanted: NoteFilter, discussion: str
) -> Sequence[MergeRequestNoteRow]:
    """The notes of one thread. Raises `NotFound`, and `TooLarge` where they do not go into one response."""
    await require_size(connection, wanted, [discussion])
    found = await of_discussions(connection, wanted, [discussion])
    if discussion not in found:
        raise NotFound("Discussion Not Found")
    return found[discussion]


async def find(connection: AsyncConnection, wanted: NoteFilter, note_id: int) -> MergeRequestNoteRow:
    """One note. Raises `NotFound`."""
    statement = select(note).where(*wanted.conditions(), note.c.id == note_id)
    row = first_of(MergeRequestNoteRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Note Not Found")
    return row


async def count(connection: AsyncConnection, merge_request_id: int) -> int:
    """How many notes people wrote."""
    return (await counts(connection, [merge_request_id])).get(merge_request_id, 0)


async def counts(connection: AsyncConnection, ids: Collection[int]) -> dict[int, int]:
    """The same for several merge requests by id; those without notes are left out."""
    if not ids:
        return {}
    statement = select(note.c.merge_request_id, func.count()).where(
        note.c.merge_request_id.in_(padded(ids)), ~note.c.system
    )
    rows = (await connection.execute(statement.group_by(note.c.merge_request_id))).all()
    return {row[0]: row[1] for row in rows}


async def unresolved(connection: AsyncConnection, ids: Collection[int]) -> frozenset[int]:
    """Those of these merge requests that have threads which are not resolved."""
    if not ids:
        return frozenset()
    statement = select(note.c.merge_request_id).where(note.c.merge_request_id.in_(padded(ids)), _TO_RESOLVE)
    return frozenset((await connection.execute(statement.distinct())).scalars())


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> MergeRequestNoteRow:
    """Write a note; its row."""
    statement = insert(note).values(**{"created_at": now, "updated_at": now, **values}).returning(note)
    return one_of(MergeRequestNoteRow, await connection.execute(statement))


async def add_system(
    connection: AsyncConnection, merge_request_id: int, author_id: int, body: str, now: datetime
) -> None:
    """Note what somebody did to a merge request."""
    values = {"discussion": new_discussion(), "kind": Kind.INDIVIDUAL, "system": True}
    plain = {"internal": False, "resolvable": False}
    whose = {"merge_request_id": merge_request_id, "author_id": author_id}
    await add(connection, now, body=body, **values, **plain, **whose)


async def change(connection: AsyncConnection, note_id: int, **values: Any) -> MergeRequestNoteRow:
    """Write columns of a note; its row. Raises `NotFound`."""
    statement = update(note).where(note.c.id == note_id).values(**values).returning(note)
    row = first_of(MergeRequestNoteRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Note Not Found")
    if "body" in values:
        await rendered_texts.forget(connection, rendered_texts.NOTES, note_id)
    return row


async def begin_thread(connection: AsyncConnection, first: MergeRequestNoteRow) -> None:
    """Make a note that stood by itself the first one of a thread: somebody answers."""
    if first.kind == Kind.INDIVIDUAL:
        await change(connection, first.id, kind=Kind.THREAD, resolvable=True)


async def resolve(
    connection: AsyncConnection,
    rows: Collection[MergeRequestNoteRow | NoteHeading],
    user_id: int,
    now: datetime,
    *,
    resolved: bool,
) -> None:
    """Resolve those of these notes that are not, or take it back."""
    ids = [row.id for row in rows if row.resolvable and (row.resolved_at is None) == resolved]
    if not ids:
        return
    values: dict[str, Any] = {"resolved_at": None, "resolved_by_id": None}
    if resolved:
        values = {"resolved_at": now, "resolved_by_id": user_id}
    await connection.execute(update(note).where(note.c.id.in_(padded(ids))).values(**values))


async def remove(connection: AsyncConnection, note_id: int) -> None:
    """Delete a note; the thread goes with its last one."""
    await connection.execute(delete(note).where(note.c.id == note_id))


async def forget(connection: AsyncConnection, merge_request_id: int) -> None:
    """Drop all of a merge request that is deleted."""
    await connection.execute(delete(note).where(note.c.merge_request_id == merge_request_id))


async def authors(connection: AsyncConnection, wanted: NoteFilter) -> Sequence[UserRow]:
    """The accounts of everybody who wrote one of these notes."""
    ids = select(note.c.author_id).where(*wanted.conditions())
    return all_of(UserRow, await connection.execute(select(user).where(user.c.id.in_(ids)).order_by(user.c.id)))
