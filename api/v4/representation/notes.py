"""Notes on merge requests, their threads and versions as GitLab's JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.v4.representation.people import PersonResponse, person
from domain.merge_requests.notes import Kind
from domain.moments import moment


@dataclass(frozen=True, slots=True)
class AroundNotes:
    """What notes point to: their merge request, and people by id."""

    merge_request: Any
    url: str
    people: Mapping[int, Any] = field(default_factory=dict)

    def person(self, key: int | None) -> PersonResponse | None:
        """A person, or None for nobody."""
        found = None if key is None else self.people.get(key)
        return None if found is None else person(found, self.url)


def people_of(rows: Iterable[Any]) -> set[int]:
    """The ids of everybody whom notes name."""
    return {key for row in rows for key in (row.author_id, row.resolved_by_id) if key is not None}


def note(row: Any, around: AroundNotes) -> dict[str, Any]:
    """A note; whether it is resolved is told of those that can be."""
    mine = around.merge_request
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
        **({"position": row.position, "suggestions": []} if row.kind == Kind.DIFF else {}),
        "resolvable": row.resolvable,
        **(_resolved(row, around) if row.resolvable else {}),
        "confidential": row.internal,
        "internal": row.internal,
        "imported": False,
        "imported_from": "none",
        "noteable_iid": mine.iid,
        "commands_changes": {},
    }


def _resolved(row: Any, around: AroundNotes) -> dict[str, Any]:
    return {
        "resolved": row.resolved_at is not None,
        "resolved_by": around.person(row.resolved_by_id),
        "resolved_at": moment(row.resolved_at),
    }


def discussion(key: str, rows: Sequence[Any], around: AroundNotes) -> dict[str, Any]:
    """A thread with all of its notes, the oldest first."""
    return {
        "id": key,
        "individual_note": rows[0].kind == Kind.INDIVIDUAL,
        "notes": [note(row, around) for row in rows],
    }


def version(row: Any) -> dict[str, Any]:
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
