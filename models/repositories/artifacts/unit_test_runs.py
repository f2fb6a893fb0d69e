"""What is known of tests by their runs: one test's last ones, how often it failed lately, and which are flaky."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.pipelines.flakiness import RECENT, JudgedRun
from domain.pipelines.status import COMPLETE, Status
from domain.pipelines.unit_tests import KEPT_RUNS, SUCCESS
from models.columns import Moment, padded
from models.repositories.artifacts.unit_tests import pipeline, run, unit_test
from models.repositories.paging import Listing
from models.repositories.pipelines.job_rows import job
from models.typed_rows import all_of, first_of

_SINCE: Final = bindparam("b_since", type_=Moment)
_FLAKY: Final = case((unit_test.c.failed_at > _SINCE, unit_test.c.flaky), else_="").label("flaky")
"""A mark ends with the failures that it is for, also while no report comes."""
_FAILURES: Final = (
    select(func.count())
    .select_from(run)
    .join(job, job.c.id == run.c.job_id)
    .join(pipeline, pipeline.c.id == job.c.pipeline_id)
    .where(
        run.c.test_id == unit_test.c.id,
        run.c.status != SUCCESS,
        run.c.on_default,
        ~run.c.among_many,
        run.c.ran_at > _SINCE,
        job.c.status == Status.FAILED,
        ~job.c.retried,
        pipeline.c.status.in_(sorted(COMPLETE)),
    )
    .scalar_subquery()
)
_KNOWN: Final = select(unit_test.c.id, unit_test.c.key, _FLAKY, _FAILURES.label("recent_failures")).where(
    unit_test.c.project_id == bindparam("b_project"), unit_test.c.key.in_(bindparam("b_keys", expanding=True))
)
_COLUMNS: Final = (
    unit_test.c.id,
    unit_test.c.suite,
    unit_test.c.classname,
    unit_test.c.name,
    unit_test.c.file,
    unit_test.c.failed_at,
)
_TEST: Final = select(*_COLUMNS, _FLAKY, _FAILURES.label("recent_failures"))
_ONE: Final = _TEST.where(unit_test.c.project_id == bindparam("b_project"), unit_test.c.id == bindparam("b_test"))
_RUNS: Final = (
    select(
        run.c.job_id,
        run.c.status,
        run.c.seconds,
        run.c.on_default,
        run.c.among_many,
        run.c.ran_at,
        job.c.name.label("job_name"),
        pipeline.c.id.label("pipeline_id"),
        pipeline.c.ref,
        pipeline.c.sha,
    )
    .join(job, job.c.id == run.c.job_id)
    .join(pipeline, pipeline.c.id == job.c.pipeline_id)
    .where(run.c.test_id == bindparam("b_test"))
    .order_by(run.c.job_id.desc())
    .limit(KEPT_RUNS)
)
_JUDGED: Final = (
    select(
        run.c.test_id,
        (run.c.status == SUCCESS).label("passed"),
        pipeline.c.sha,
        run.c.on_default,
        run.c.among_many,
        run.c.ran_at,
    )
    .join(job, job.c.id == run.c.job_id)
    .join(pipeline, pipeline.c.id == job.c.pipeline_id)
    .where(run.c.test_id.in_(bindparam("b_tests", expanding=True)))
    .order_by(run.c.test_id, run.c.job_id.desc())
)


@dataclass(frozen=True, slots=True)
class KnownTest:
    """A test by its key; `flaky` says why it is, `recent_failures` how often the default branch failed by it lately."""

    id: int
    key: str
    flaky: str
    recent_failures: int


@dataclass(frozen=True, slots=True)
class UnitTestRow:
    """A test; its texts may be cut."""

    id: int
    suite: str
    classname: str
    name: str
    file: str
    failed_at: datetime | None
    flaky: str
    recent_failures: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run of a test, with its job and pipeline."""

    job_id: int
    status: str
    seconds: float
    on_default: bool
    among_many: bool
    ran_at: datetime
    job_name: str
    pipeline_id: int
    ref: str
    sha: str


async def known(
    connection: AsyncConnection, project_id: int, keys: Collection[str], now: datetime
) -> dict[str, KnownTest]:
    """What is known of tests, by key; some hundred keys at most."""
    if not keys:
        return {}
    wanted = {"b_project": project_id, "b_keys": padded(keys), "b_since": now - RECENT}
    return {row.key: row for row in all_of(KnownTest, await connection.execute(_KNOWN, wanted))}


async def get(connection: AsyncConnection, project_id: int, test_id: int, now: datetime) -> UnitTestRow:
    """A test of a project. Raises `NotFound`."""
    wanted = {"b_project": project_id, "b_test": test_id, "b_since": now - RECENT}
    row = first_of(UnitTestRow, await connection.execute(_ONE, wanted))
    if row is None:
        raise NotFound("Test Not Found")
    return row


async def last_runs(connection: AsyncConnection, test_id: int) -> Sequence[RunRow]:
    """The last runs of a test, the newest first."""
    return all_of(RunRow, await connection.execute(_RUNS, {"b_test": test_id}))


def flaky(project_id: int, now: datetime) -> Listing[UnitTestRow]:
    """Statement for the flaky tests of a project; first what failed last."""
    since: dict[str, Any] = {"b_since": now - RECENT}
    statement = _TEST.where(
        unit_test.c.project_id == project_id, unit_test.c.flaky != "", unit_test.c.failed_at > _SINCE
    )
    return Listing(statement.order_by(unit_test.c.failed_at.desc(), unit_test.c.id.desc()).params(since), UnitTestRow)


async def judged(connection: AsyncConnection, test_ids: Collection[int]) -> dict[int, list[JudgedRun]]:
    """The runs of some tests, the newest first, by the tests' ids."""
    found: dict[int, list[JudgedRun]] = {test_id: [] for test_id in test_ids}
    for test_id, *values in (await connection.execute(_JUDGED, {"b_tests": padded(test_ids)})).all():
        found[test_id].append(JudgedRun(*values))
    return found
