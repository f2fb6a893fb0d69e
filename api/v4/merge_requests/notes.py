"""Notes on merge requests, one by one: those of people and those of the server."""

from typing import Annotated, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.merge_requests.note_access import NoteDep, NotesDep, Written, shown
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.notes import NoteResponse
from application.merge_requests.notes import change_body, delete_note, write_note
from domain.merge_requests.notes import MAX_BODY
from models.repositories.merge_requests import merge_request_notes
from models.repositories.paging import slice_of

router = RouteList(prefix="/projects/{project}/merge_requests/{iid}/notes")


class NewNote(Written):
    """Parameters of `POST`; `confidential` is the older name of `internal`."""

    internal: bool = False
    confidential: bool = False


class NoteChanges(Optionals):
    """Parameters of `PUT`."""

    body: str = Field(min_length=1, max_length=MAX_BODY)


_SYSTEM = {"all_notes": None, "only_comments": False, "only_activity": True}


@router.get("", response_model=list[NoteResponse])
async def list_notes(
    notes: NotesDep,
    services: ServicesDep,
    paging: PagingDep,
    order_by: Literal["created_at", "updated_at"] = "created_at",
    sort: Literal["asc", "desc"] = "desc",
    activity_filter: Literal["all_notes", "only_comments", "only_activity"] = "all_notes",
) -> JSONResponse:
    """The notes on a merge request, the newest first; those for members only for reporters of the project."""
    statement = merge_request_notes.listed(notes.seen(_SYSTEM[activity_filter]), order_by, ascending=sort == "asc")
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response(await shown(services, notes, page.rows), page.total)


@router.post("", status_code=201)
async def create_note(
    new: Annotated[NewNote, Depends(given(NewNote))], notes: NotesDep, services: ServicesDep
) -> NoteResponse:
    """Write a note: whoever may read the merge request may, reporters an internal one."""
    wanted = notes.new(new, internal=new.internal or new.confidential)
    return (await shown(services, notes, [await write_note(services, notes.found.here, wanted)]))[0]


@router.get("/{note_id}")
async def get_note(note: NoteDep, notes: NotesDep, services: ServicesDep) -> NoteResponse:
    """One note."""
    return (await shown(services, notes, [note]))[0]


@router.put("/{note_id}")
async def change_note(
    changes: Annotated[NoteChanges, Depends(given(NoteChanges))], note: NoteDep, notes: NotesDep, services: ServicesDep
) -> NoteResponse:
    """Write another text of a note; its author may, and maintainers."""
    notes.require_change(note)
    changed = await change_body(services, note, changes.body, notes.found.project.caller.user_id)
    return (await shown(services, notes, [changed]))[0]


@router.delete("/{note_id}", status_code=204)
async def remove_note(note: NoteDep, notes: NotesDep, services: ServicesDep) -> Response:
    """Delete a note; its author may, and maintainers."""
    notes.require_change(note)
    await delete_note(services, note)
    return Response(status_code=204)
