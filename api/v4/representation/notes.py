"""Notes on merge requests, their threads and versions as GitLab's JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired

from typing_extensions import TypedDict

from api.v4.representation.people import PersonResponse, person
from domain.merge_requests.notes import Kind
from domain.moments import moment
from models.rows.accounts import UserRow
from models.rows.merge_request_notes import MergeRequestNoteRow, MergeRequestVersionRow
from models.rows.merge_requests import MergeRequestRow


class NoteResponse(TypedDict):
    """A note on a merge request; those on its changes have a `position`, those of threads tell whether it is done."""

    id: int
    type: str | None
    body: str
    attachment: str | None
    author: PersonResponse | None
    created_at: str
    updated_at: str
    system: bool
    noteable_id: int
    noteable_type: str
    project_id: int
    commit_id: str | None
    position: NotRequired[Mapping[str, Any] | None]
    suggestions: NotRequired[list[dict[str, Any]]]
    resolvable: bool
    resolved: NotRequired[bool]
    resolved_by: NotRequired[PersonResponse | None]
    resolved_at: NotRequired[str | None]
    confidential: bool
    internal: bool
    imported: bool
    imported_from: str
    noteable_iid: int
    commands_changes: dict[str, Any]


class DiscussionResponse(TypedDict):
    """A thread with its notes."""

    id: str
    individual_note: bool
    notes: list[NoteResponse]


class MergeRequestVersionResponse(TypedDict):
    """A version of what a merge request brings."""

    id: int
    head_commit_sha: str
    base_commit_sha: str | None
    start_commit_sha: str | None
    created_at: str
    merge_request_id: int
    state: str
    real_size: str | None
    patch_id_sha: str | None


class _Placed(TypedDict, total=False):
    position: Mapping[str, Any] | None
    suggestions: list[dict[str, Any]]


class _Resolved(TypedDict, total=False):
    resolved: bool
    resolved_by: PersonResponse | None
    resolved_at: str | None


@dataclass(frozen=True, slots=True)
class AroundNotes:
    """What notes point to: their merge request, and people by id."""

    merge_request: MergeRequestRow
    url: str
    people: Mapping[int, UserRow] = field(default_factory=dict)

    def person(self, key: int | None) -> PersonResponse | None:
        """A person, or None for nobody."""
        found = None if key is None else self.people.get(key)
        return None if found is None else person(found, self.url)


def people_of(rows: Iterable[MergeRequestNoteRow]) -> set[int]:
    """The ids of everybody whom notes name."""
    return {key for row in rows for key in (row.author_id, row.resolved_by_id) if key is not None}


def note(row: MergeRequestNoteRow, around: AroundNotes) -> NoteResponse:
    """A note; whether it is resolved is told of those that can be."""
    mine = around.merge_request
    placed: _Placed = {"position": row.position, "suggestions": []} if row.kind == Kind.DIFF else {}
    resolved: _Resolved = _resolved(row, around) if row.resolvable else {}
    return {
        "id": row.id,
        "type": row.kind or None,
        "body": row.body,
        "attachment": None,
        "author": around.person(row.author_id),
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "system": row.system,
        "noteable_id": mine.id,
        "noteable_type": "MergeRequest",
        "project_id": mine.project_id,
        "commit_id": None,
        **placed,
        "resolvable": row.resolvable,
        **resolved,
        "confidential": row.internal,
        "internal": row.internal,
        "imported": False,
        "imported_from": "none",
        "noteable_iid": mine.iid,
        "commands_changes": {},
    }


def _resolved(row: MergeRequestNoteRow, around: AroundNotes) -> _Resolved:
    return {
        "resolved": row.resolved_at is not None,
        "resolved_by": around.person(row.resolved_by_id),
        "resolved_at": moment(row.resolved_at),
    }


def discussion(key: str, rows: Sequence[MergeRequestNoteRow], around: AroundNotes) -> DiscussionResponse:
    """A thread with all of its notes, the oldest first."""
    return {
        "id": key,
        "individual_note": rows[0].kind == Kind.INDIVIDUAL,
        "notes": [note(row, around) for row in rows],
    }


def version(row: MergeRequestVersionRow) -> MergeRequestVersionResponse:
    """A version of what a merge request brings, in a list."""
    return {
        "id": row.id,
        "head_commit_sha": row.head_sha,
        "base_commit_sha": row.base_sha or None,
        "start_commit_sha": row.start_sha or None,
        "created_at": moment(row.created_at),
        "merge_request_id": row.merge_request_id,
        "state": "collected",
        "real_size": None,
        "patch_id_sha": None,
    }
