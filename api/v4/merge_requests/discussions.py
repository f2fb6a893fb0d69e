"""Threads of merge requests: begun, answered, resolved; those of lines of the changes have a position."""

from typing import Annotated, Any, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field, model_validator

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.merge_requests.note_access import NoteDep, NotesDep, ThreadDep, Written, shown, shown_discussions
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.notes import DiscussionResponse, NoteResponse
from application.merge_requests.notes import answer, begin_discussion, change_body, delete_note, resolve
from domain.errors import Invalid, NotFound
from domain.merge_requests.notes import MAX_BODY
from models.repositories.merge_requests import merge_request_notes
from models.repositories.paging import slice_of
from models.rows.merge_request_notes import MergeRequestNoteRow

router = RouteList(prefix="/projects/{project}/merge_requests/{iid}/discussions")

_MAX_LINE = 2**31 - 1
_SHA = Annotated[str, Field(pattern=r"^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$")]
_Path = Annotated[str, Field(min_length=1, max_length=4096)]
_Line = Annotated[int, Field(ge=1, le=_MAX_LINE)]


class RangeEnd(Optionals):
    """One end of several lines."""

    line_code: str | None = Field(default=None, max_length=255)
    type: Literal["new", "old", "expanded"] | None = None
    old_line: _Line | None = None
    new_line: _Line | None = None


class LineRange(Optionals):
    """Several lines."""

    start: RangeEnd
    end: RangeEnd


class Position(Optionals):
    """What a diff note is about: a line, a place in an image, or a whole file, of one version of the changes."""

    base_sha: _SHA
    start_sha: _SHA
    head_sha: _SHA
    position_type: Literal["text", "image", "file"]
    old_path: _Path | None = None
    new_path: _Path | None = None
    old_line: _Line | None = None
    new_line: _Line | None = None
    line_range: LineRange | None = None
    width: int | None = Field(default=None, ge=0, le=_MAX_LINE)
    height: int | None = Field(default=None, ge=0, le=_MAX_LINE)
    x: float | None = Field(default=None, ge=0, le=_MAX_LINE)
    y: float | None = Field(default=None, ge=0, le=_MAX_LINE)

    @model_validator(mode="after")
    def _is_a_place(self) -> "Position":
        if self.old_path is None and self.new_path is None:
            raise ValueError("name the file by new_path, or by old_path where it is gone.")
        if self.position_type == "text" and self.old_line is None and self.new_line is None:
            raise ValueError("name the line by new_line, by old_line where it is gone, or by both.")
        return self

    def document(self) -> dict[str, Any]:
        """As it is kept: what is not said of texts is null."""
        kept = ("base_sha", "start_sha", "head_sha", "old_path", "new_path", "position_type", "old_line", "new_line")
        told = self.model_dump(mode="json")
        found = {name: told[name] for name in kept} | {"line_range": told["line_range"]}
        image = ("width", "height", "x", "y") if self.position_type == "image" else ()
        return found | {name: told[name] for name in image}


class NewDiscussion(Written):
    """Parameters of `POST`."""

    position: Position | None = None


class Resolving(Optionals):
    """Parameters of `PUT /:discussion_id`."""

    resolved: bool


class NoteChanges(Optionals):
    """Parameters of `PUT /:discussion_id/notes/:note_id`: one of both."""

    body: str | None = Field(default=None, min_length=1, max_length=MAX_BODY)
    resolved: bool | None = None


@router.get("", response_model=list[DiscussionResponse])
async def list_discussions(notes: NotesDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The threads of a merge request, and the notes that stand by themselves, the oldest first."""
    seen = notes.seen()
    async with services.database.read() as connection:
        page = await slice_of(connection, merge_request_notes.discussions(seen), paging.number, paging.size)
        ids = [row.discussion for row in page.rows]
        await merge_request_notes.require_size(connection, seen, ids)
        found = await merge_request_notes.of_discussions(connection, seen, ids)
    return paging.response(await shown_discussions(services, notes, found), page.total)


@router.post("", status_code=201)
async def create_discussion(
    new: Annotated[NewDiscussion, Depends(given(NewDiscussion))], notes: NotesDep, services: ServicesDep
) -> DiscussionResponse:
    """Begin a thread, about the merge request or, with a `position`, about what it changes."""
    wanted = notes.new(new, position=None if new.position is None else new.position.document())
    first = await begin_discussion(services, notes.found.here, wanted)
    return (await shown_discussions(services, notes, {first.discussion: [first]}))[0]


@router.get("/{discussion_id}")
async def get_discussion(discussion_id: str, notes: NotesDep, services: ServicesDep) -> DiscussionResponse:
    """One thread."""
    async with services.database.read() as connection:
        rows = await merge_request_notes.of_discussion(connection, notes.seen(), discussion_id)
    return (await shown_discussions(services, notes, {discussion_id: rows}))[0]


@router.put("/{discussion_id}")
async def resolve_discussion(
    changes: Annotated[Resolving, Depends(given(Resolving))],
    thread: ThreadDep,
    notes: NotesDep,
    services: ServicesDep,
) -> DiscussionResponse:
    """Resolve a thread, or open it again; developers may, and who opened the merge request."""
    notes.require_resolve()
    discussion = thread[0].discussion
    async with services.database.read() as connection:
        await merge_request_notes.require_size(connection, notes.seen(), [discussion])
    await resolve(services, thread, notes.found.project.caller.user_id, resolved=changes.resolved)
    return await get_discussion(discussion, notes, services)


@router.get("/{discussion_id}/notes", response_model=list[NoteResponse])
async def list_notes(discussion_id: str, notes: NotesDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The notes of a thread, the oldest first."""
    async with services.database.read() as connection:
        listing = merge_request_notes.in_thread(notes.seen(), discussion_id)
        page = await slice_of(connection, listing, paging.number, paging.size)
    if not page.total:
        raise NotFound("Discussion Not Found")
    return paging.response(await shown(services, notes, page.rows), page.total)


@router.post("/{discussion_id}/notes", status_code=201)
async def create_note(
    new: Annotated[Written, Depends(given(Written))], discussion_id: str, notes: NotesDep, services: ServicesDep
) -> NoteResponse:
    """Answer in a thread; a note that stood by itself becomes one."""
    row = await answer(services, notes.found.here, notes.seen(), discussion_id, notes.new(new))
    return (await shown(services, notes, [row]))[0]


async def note_in_discussion(note: NoteDep, discussion_id: str) -> MergeRequestNoteRow:
    """The note of a path, which must be one of its thread. Raises `NotFound`."""
    if note.discussion != discussion_id:
        raise NotFound("Note Not Found")
    return note


NoteInDiscussionDep = Annotated[MergeRequestNoteRow, Depends(note_in_discussion)]


@router.get("/{discussion_id}/notes/{note_id}")
async def get_note(note: NoteInDiscussionDep, notes: NotesDep, services: ServicesDep) -> NoteResponse:
    """One note of a thread."""
    return (await shown(services, notes, [note]))[0]


@router.put("/{discussion_id}/notes/{note_id}")
async def change_note(
    changes: Annotated[NoteChanges, Depends(given(NoteChanges))],
    note: NoteInDiscussionDep,
    notes: NotesDep,
    services: ServicesDep,
) -> NoteResponse:
    """Write another text of a note, as its author or a maintainer, or resolve it, as with threads."""
    if (changes.body is None) == (changes.resolved is None):
        raise Invalid("body, resolved are mutually exclusive, exactly one parameter must be provided")
    if changes.body is not None:
        notes.require_change(note)
        note = await change_body(services, note, changes.body, notes.found.project.caller.user_id)
    if changes.resolved is not None:
        notes.require_resolve()
        await resolve(services, [note], notes.found.project.caller.user_id, resolved=changes.resolved)
        async with services.database.read() as connection:
            note = await merge_request_notes.find(connection, notes.seen(), note.id)
    return (await shown(services, notes, [note]))[0]


@router.delete("/{discussion_id}/notes/{note_id}", status_code=204)
async def remove_note(note: NoteInDiscussionDep, notes: NotesDep, services: ServicesDep) -> Response:
    """Delete a note of a thread; its author may, and maintainers."""
    notes.require_change(note)
    await delete_note(services, note)
    return Response(status_code=204)
