"""What people wrote about merge requests, what was noted of them, and the versions of their changes."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Text, text
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, document_or_none, key, moment, reference

_TO_RESOLVE = text("resolvable AND resolved_at IS NULL")


class MergeRequestNote(SQLModel, table=True):
    """A note on a merge request; those with the same `discussion`, 40 hexadecimal digits, are one thread.

    `kind` is one of `domain.merge_requests.notes.Kind`. A `system` note tells what the author did; an `internal` one is
    for members. `position` is GitLab's: the lines of a version that a diff note is about.
    """

    __tablename__ = "merge_request_note"
    __table_args__ = (
        Index("merge_request_note_of_request", "merge_request_id", "id"),
        # With what is asked of all notes: else each is read, past its text.
        Index("merge_request_note_of_discussion", "merge_request_id", "discussion", "id", "internal", "system"),
        Index(
            "merge_request_note_to_resolve",
            "merge_request_id",
            sqlite_where=_TO_RESOLVE,
            postgresql_where=_TO_RESOLVE,
        ),
        COUNTING,
    )

    id: int | None = key()
    merge_request_id: int = reference("merge_request.id")
    discussion: str
    author_id: int = reference("account.id")
    body: str = Field(nullable=False, sa_type=Text)
    kind: str = ""
    system: bool = False
    internal: bool = False
    resolvable: bool = False
    position: dict[str, Any] | None = document_or_none()
    resolved_by_id: int | None = reference("account.id", nullable=True)
    resolved_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)


class MergeRequestVersion(SQLModel, table=True):
    """What a merge request would have brought from a push to its source branch until the next one."""

    __tablename__ = "merge_request_version"
    __table_args__ = (Index("merge_request_version_of_request", "merge_request_id", "id"), COUNTING)

    id: int | None = key()
    merge_request_id: int = reference("merge_request.id")
    head_sha: str
    base_sha: str
    start_sha: str
    created_at: datetime = moment(nullable=False)
