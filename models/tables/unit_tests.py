"""What became of each test, run by run."""

from datetime import datetime
from typing import Final

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, moment, only, reference

_FLAKY: Final = "flaky <> ''"
_FAILED: Final = "status <> 'success'"


class UnitTest(SQLModel, table=True):
    """A test of a project, known by suite, class and name (`domain.pipelines.unit_tests.key_of`), which may be cut.

    `last_seen` is the beginning of the day of the last report that names it: it is not written anew with each.
    `failed_at` is when it failed last, together with few others. `flaky` says why it counts as flaky, as of the last
    report (`domain.pipelines.flakiness.Flaky`), or nothing. `untrimmed` counts runs since there were no more than are
    kept.
    """

    __tablename__ = "unit_test"
    __table_args__ = (
        UniqueConstraint("project_id", "key"),
        Index("unit_test_by_day", "last_seen"),
        Index("unit_test_flaky", "project_id", "failed_at", **only(_FLAKY)),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id")
    key: str
    suite: str
    classname: str
    name: str
    file: str
    last_seen: datetime = moment(nullable=False)
    failed_at: datetime | None = moment()
    flaky: str = ""
    untrimmed: int = 0


class UnitTestRun(SQLModel, table=True):
    """What the report of a job says of a test that was run: `success`, `failed` or `error`, in how many seconds.

    `on_default` tells runs on the default branch, as it was then. `among_many` are those whose report has so many
    failures that no single one tells anything.
    """

    __tablename__ = "unit_test_run"
    __table_args__ = (Index("unit_test_failure", "test_id", "ran_at", **only(_FAILED)),)

    test_id: int = reference("unit_test.id", primary_key=True)
    job_id: int = reference("job.id", primary_key=True, index=True)
    status: str
    seconds: float
    on_default: bool = Field(default=False)
    among_many: bool = Field(default=False)
    ran_at: datetime = moment(nullable=False)
