"""Notes of merge requests for one caller: what they may read, write and change, and how they are shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends
from pydantic import Field

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id
from api.v4.merge_requests.access import MergeRequestAccess, MergeRequestDep
from api.v4.parameters import Optionals
from api.v4.representation.notes import AroundNotes, DiscussionResponse, NoteResponse, people_of
from api.v4.representation.notes import discussion as shown_discussion
from api.v4.representation.notes import note as shown_note
from application.merge_requests.notes import NewNote
from auth.permissions import LEVEL_FOR, Action, NoteAction, may_note, require_known, require_note
from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.merge_requests.notes import MAX_BODY
from models.repositories.merge_requests import merge_request_notes
from models.repositories.merge_requests.merge_request_notes import NoteFilter
from models.repositories.paging import every_of
from models.repositories.projects import relations
from models.rows.merge_request_notes import MergeRequestNoteRow, NoteHeading


class Written(Optionals):
    """What everybody may say of a note that they write; `created_at` is heeded of owners only."""

    body: str = Field(min_length=1, max_length=MAX_BODY)
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NoteAccess:
    """The notes of a merge request as one caller may use them."""

    found: MergeRequestAccess

    def may(self, action: NoteAction, *, is_author: bool = False) -> bool:
        """Whether the caller may do it."""
        project = self.found.project
        return may_note(project.caller, action, project.level, project.member_level, is_author=is_author)

    def require(self, action: NoteAction, *, is_author: bool = False) -> None:
        """Raise unless the caller may do it."""
        self.require_open()
        project = self.found.project
        require_note(project.caller, action, project.level, project.member_level, is_author=is_author)

    def require_open(self) -> None:
        """Raise unless the caller is known and the project not archived."""
        require_known(self.found.project.caller)
        if self.found.project.row.archived:
            raise Forbidden("Forbidden: the project is archived; nothing of it changes until it is unarchived.")

    def require_change(self, note: MergeRequestNoteRow) -> None:
        """Raise unless the caller may change a note; nobody changes what the server noted."""
        self.require(NoteAction.CHANGE, is_author=note.author_id == self.found.project.caller.user_id)
        if note.system:
            raise Forbidden("Forbidden: what the server noted cannot be changed.")

    def require_resolve(self) -> None:
        """Raise unless the caller may resolve threads."""
        caller = self.found.project.caller
        self.require(NoteAction.RESOLVE, is_author=caller.is_known and caller.user_id == self.found.row.author_id)

    def may_resolve(self) -> bool:
        """Whether they may, for what only shows a button."""
        try:
            self.require_resolve()
        except (Forbidden, Unauthenticated):
            return False
        return True

    def seen(self, system: bool | None = None) -> NoteFilter:
        """Which notes the caller may read."""
        return NoteFilter(self.found.row.id, self.may(NoteAction.INTERNAL), system)

    def new(self, asked: Written, *, internal: bool = False, position: dict[str, Any] | None = None) -> NewNote:
        """What the caller wants to write. Raises `Forbidden` for an internal note of one who could not read it."""
        self.require_open()
        if internal:
            self.require(NoteAction.INTERNAL)
        moment = asked.created_at if self.found.project.level >= LEVEL_FOR[Action.OWN] else None
        if moment is not None and moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return NewNote(asked.body, self.found.project.caller.user_id, internal, moment, position)


async def notes_of(found: MergeRequestDep) -> NoteAccess:
    """The notes of the merge request of a path."""
    return NoteAccess(found)


NotesDep = Annotated[NoteAccess, Depends(notes_of)]


async def note_of(note_id: Id, notes: NotesDep, services: ServicesDep) -> MergeRequestNoteRow:
    """The note of a path. Raises `NotFound`, also for one that the caller may not read."""
    async with services.database.read() as connection:
        return await merge_request_notes.find(connection, notes.seen(), note_id)


NoteDep = Annotated[MergeRequestNoteRow, Depends(note_of)]


async def thread_of(discussion_id: str, notes: NotesDep, services: ServicesDep) -> Sequence[NoteHeading]:
    """The notes of the thread of a path without what they say, the newest first. Raises `NotFound`."""
    async with services.database.read() as connection:
        found = await every_of(connection, merge_request_notes.of_thread(notes.seen(), discussion_id))
    if not found:
        raise NotFound("Discussion Not Found")
    return found


ThreadDep = Annotated[Sequence[NoteHeading], Depends(thread_of)]


async def around(services: Services, notes: NoteAccess, rows: Sequence[MergeRequestNoteRow]) -> AroundNotes:
    """What these notes point to."""
    async with services.database.read() as connection:
        people = await relations.users(connection, people_of(rows))
    return AroundNotes(notes.found.row, services.settings.url, people)


async def shown(services: Services, notes: NoteAccess, rows: Sequence[MergeRequestNoteRow]) -> list[NoteResponse]:
    """Notes as JSON."""
    about = await around(services, notes, rows)
    return [shown_note(row, about) for row in rows]


async def shown_discussions(
    services: Services, notes: NoteAccess, found: Mapping[str, Sequence[MergeRequestNoteRow]]
) -> list[DiscussionResponse]:
    """Threads as JSON."""
    about = await around(services, notes, [row for rows in found.values() for row in rows])
    return [shown_discussion(key, rows, about) for key, rows in found.items()]
