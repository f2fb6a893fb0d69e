"""Rows of the tables of `models.tables.merge_request_notes`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class MergeRequestNoteRow:
    """A row of `models.tables.merge_request_notes.MergeRequestNote`, which says what its columns mean."""

    id: int
    merge_request_id: int
    discussion: str
    author_id: int
    body: str
    kind: str
    system: bool
    internal: bool
    resolvable: bool
    position: Mapping[str, Any] | None
    resolved_by_id: int | None
    resolved_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NoteHeading:
    """A row of `models.tables.merge_request_notes.MergeRequestNote` without its body, which may be a megabyte."""

    id: int
    merge_request_id: int
    discussion: str
    author_id: int
    system: bool
    internal: bool
    resolvable: bool
    position: Mapping[str, Any] | None
    resolved_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MergeRequestVersionRow:
    """A row of `models.tables.merge_request_notes.MergeRequestVersion`, which says what its columns mean."""

    id: int
    merge_request_id: int
    head_sha: str
    base_sha: str
    start_sha: str
    created_at: datetime
