"""What was said and done on a merge request, thread by thread, a page at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from api.pages.frame.page_count import page_count
from api.pages.merge_requests.texts import SystemNote, markdown, system_note
from api.services import Services
from api.v4.merge_requests.note_access import NoteAccess
from models.repositories.merge_requests import merge_request_notes
from models.repositories.paging import slice_of
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.merge_request_notes import MergeRequestNoteRow

PER_PAGE: Final = 50
"""Threads of one page, of which those on the newest are shown first."""


@dataclass(frozen=True, slots=True)
class ShownNote:
    """A note: `system` what the server wrote, else `html` (None for what is too long to be rendered)."""

    row: MergeRequestNoteRow
    html: Markup | None
    system: SystemNote | None
    place: str

    @property
    def text(self) -> str:
        """What was written."""
        return self.row.body


@dataclass(frozen=True, slots=True)
class ShownThread:
    """A thread; `open` says that it has to be resolved."""

    id: str
    notes: Sequence[ShownNote]
    resolvable: bool
    open: bool


@dataclass(frozen=True, slots=True)
class Activity:
    """A page of threads, the oldest of them first; page 1 has the newest."""

    threads: Sequence[ShownThread]
    people: Mapping[int, UserRow]
    number: int
    last: int
    may_resolve: bool


async def activity_of(services: Services, notes: NoteAccess, number: int) -> Activity:
    """What the caller may read of it."""
    seen = notes.seen()
    newest_first = merge_request_notes.discussions(seen, newest_first=True)
    async with services.database.read() as connection:
        found = await slice_of(connection, newest_first, number, PER_PAGE)
        ids = [one.discussion for one in reversed(found.rows)]
        threads = await merge_request_notes.of_discussions(connection, seen, ids)
        rows = [row for thread in threads.values() for row in thread]
        named = {key for row in rows for key in (row.author_id, row.resolved_by_id) if key is not None}
        people = await relations.users(connection, named)
    return Activity(
        [_thread(key, thread) for key, thread in threads.items()],
        people,
        number,
        page_count(found.total, PER_PAGE),
        notes.may_resolve(),
    )


def _thread(key: str, rows: Sequence[MergeRequestNoteRow]) -> ShownThread:
    resolvable = [row for row in rows if row.resolvable]
    return ShownThread(
        key,
        [
            ShownNote(
                row,
                None if row.system else markdown(row.body),
                system_note(row.body) if row.system else None,
                _place(row.position),
            )
            for row in rows
        ],
        bool(resolvable),
        any(row.resolved_at is None for row in resolvable),
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
