"""Artifacts of jobs, and objects in the store that nobody needs any more."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, document, key, moment, number, only, reference

_THERE: Final = "object_key <> ''"
_EXPIRES: Final = "expire_at IS NOT NULL AND object_key <> ''"
_UNPARSED: Final = "NOT parsed"


class Artifact(SQLModel, table=True):
    """A file that a job handed in; its bytes are in the store under `object_key`.

    Of an archive that has expired or was erased the row stays without a key: jobs that depend on it must not run. So
    does that of the results of steps (`steps`), at which no attempt can begin any more.
    `access` says who may read it (`all`, `developer`, `maintainer`, `none`). `parsed` is false while a report waits to
    be read into its table.
    """

    __table_args__ = (
        UniqueConstraint("job_id", "file_type"),
        Index("artifact_by_expiry", "expire_at", **only(_EXPIRES)),
        Index("artifact_of_project", "project_id", "expire_at", **only(_THERE)),
        Index("artifact_to_parse", "id", **only(_UNPARSED)),
        COUNTING,
    )

    id: int | None = key()
    job_id: int = reference("job.id", index=True)
    project_id: int = number()
    file_type: str
    file_format: str
    filename: str
    size: int = number()
    sha256: str
    object_key: str
    access: str = "all"
    parsed: bool = True
    expire_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)


class ObjectToDelete(SQLModel, table=True):
    """An object of the store that no row speaks of, or not yet: an upload on its way, or what is to be removed.

    The key of an upload is written before its first byte; it goes, or is `doomed`, when the upload is over or too old.
    """

    __tablename__ = "object_to_delete"

    object_key: str = Field(primary_key=True)
    doomed: bool = Field(default=False, index=True)
    created_at: datetime = moment(nullable=False)


class TestReport(SQLModel, table=True):
    """What a JUnit report of a job says; `cases` holds every test case."""

    __tablename__ = "test_report"
    __test__ = False

    job_id: int = reference("job.id", primary_key=True)
    pipeline_id: int = reference("pipeline.id", index=True)
    total: int
    failed: int
    errored: int
    skipped: int
    seconds: float
    cases: list[dict[str, Any]] = document(list)
    error: str = ""
