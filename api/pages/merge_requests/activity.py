"""What was said and done on a merge request: a page of threads with their newest answers, one thread, or one note."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Query
from sqlalchemy.ext.asyncio import AsyncConnection

from api.pages.frame.page_count import page_count
from api.pages.frame.shown_texts import ShownText, shown_texts
from api.pages.merge_requests.texts import SystemNote, system_note
from api.pages.projects.home import Number
from api.services import Services
from api.v4.access import MAX_ID
from api.v4.merge_requests.note_access import NoteAccess
from domain.errors import NotFound
from models.repositories.merge_requests import merge_request_notes
from models.repositories.merge_requests.merge_request_notes import NoteFilter, ThreadHead
from models.repositories.paging import slice_of
from models.repositories.projects import relations
from models.repositories.texts.rendered_texts import NOTES, beginnings
from models.rows.accounts import UserRow
from models.rows.merge_request_notes import NoteHeading

PER_PAGE: Final = 50
"""Threads of one page, of which those on the newest are shown first; also notes of a page of one thread."""
ANSWERS: Final = 50
"""Answers on one page of threads, the newest of all of them."""
_COMMITS: Final = 10_000
"""Characters of a note of the server that are looked at for commits."""


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a merge request's activity on one page: some of its threads, a part of one thread, or one note."""

    number: int = 1
    thread: str = ""
    note: int = 0

    def page(self, number: int) -> str:
        """Another page of the same, as a query."""
        return "?" + urlencode({**({"thread": self.thread} if self.thread else {}), "page": number})


async def window_of(
    number: Annotated[Number, Query(alias="page")] = 1,
    thread: Annotated[str, Query(max_length=64)] = "",
    note: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> Window:
    """The part of the activity that the query of an address asks for."""
    return Window(number, thread, note)


WindowDep = Annotated[Window, Depends(window_of)]


@dataclass(frozen=True, slots=True)
class ShownNote:
    """A note; `system` is what the server wrote."""

    row: NoteHeading
    text: ShownText
    system: SystemNote | None
    place: str


@dataclass(frozen=True, slots=True)
class ShownThread:
    """A thread; `open` says that it has to be resolved, `hidden` how many of its answers are not on this page."""

    id: str
    notes: Sequence[ShownNote]
    resolvable: bool
    open: bool
    hidden: int


@dataclass(frozen=True, slots=True)
class Activity:
    """A page of threads, the oldest of them first; page 1 has the newest."""

    threads: Sequence[ShownThread]
    people: Mapping[int, UserRow]
    window: Window
    last: int
    may_resolve: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """Notes that are shown, the oldest first, the threads that they are of, and how many pages there are."""

    rows: Sequence[NoteHeading]
    threads: Sequence[ThreadHead]
    last: int


async def activity_of(services: Services, notes: NoteAccess, window: Window) -> Activity:
    """The threads and notes of a merge request that the caller may read. Raises `NotFound` where one is missing."""
    seen = notes.seen()
    async with services.database.read() as connection:
        found = await _found(connection, seen, window)
        open_threads = await merge_request_notes.open_threads(connection, seen.merge_request_id)
        people = await relations.users(connection, {row.author_id for row in found.rows})
        of_server = [row.id for row in found.rows if row.system]
        bodies = {of.id: of.text for of in await beginnings(connection, NOTES, of_server, _COMMITS)}
    newest_first = [row.id for row in reversed(found.rows) if not row.system]
    texts = {
        **await shown_texts(services, NOTES, newest_first),
        **await shown_texts(services, NOTES, of_server, lambda of: system_note(of.text).line),
    }
    shown = [
        ShownNote(row, texts[row.id], system_note(bodies[row.id]) if row.system else None, _place(row.position))
        for row in found.rows
        if row.id in texts and (not row.system or row.id in bodies)
    ]
    threads = [_thread(head, shown, open_threads, hides=not window.thread) for head in found.threads]
    return Activity(threads, people, window, found.last, notes.may_resolve())


async def _found(connection: AsyncConnection, seen: NoteFilter, window: Window) -> _Found:
    if window.note:
        ids = [await merge_request_notes.thread_of(connection, seen, window.note)]
        rows = await merge_request_notes.headings(connection, [window.note])
        return _Found(rows, await merge_request_notes.heads(connection, seen, ids), 1)
    if window.thread:
        listing = merge_request_notes.of_thread(seen, window.thread)
        found = await slice_of(connection, listing, window.number, PER_PAGE)
        if not found.total:
            raise NotFound("Discussion Not Found")
        threads = await merge_request_notes.heads(connection, seen, [window.thread])
        return _Found(list(reversed(found.rows)), threads, page_count(found.total, PER_PAGE))
    newest_first = merge_request_notes.discussions(seen, newest_first=True)
    page = await slice_of(connection, newest_first, window.number, PER_PAGE)
    threads = await merge_request_notes.heads(connection, seen, [row.discussion for row in page.rows])
    answers = await merge_request_notes.newest_answers(connection, seen, threads, ANSWERS)
    rows = await merge_request_notes.headings(connection, [*(thread.first for thread in threads), *answers])
    return _Found(rows, threads, page_count(page.total, PER_PAGE))


def _thread(head: ThreadHead, shown: Sequence[ShownNote], open_threads: frozenset[str], *, hides: bool) -> ShownThread:
    mine = [note for note in shown if note.row.discussion == head.discussion]
    return ShownThread(
        head.discussion,
        mine,
        any(note.row.resolvable for note in mine),
        head.discussion in open_threads,
        head.notes - len(mine) if hides else 0,
    )


def _place(position: Mapping[str, Any] | None) -> str:
    """The line that a note is about: `path:12`."""
    if not position:
        return ""
    path, line = (
        position.get("new_path") or position.get("old_path"),
        position.get("new_line") or position.get("old_line"),
    )
    return f"{path}:{line}" if line else str(path or "")
