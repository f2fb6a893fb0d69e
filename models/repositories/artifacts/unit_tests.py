"""What becomes of tests, written as reports are read: some hundred results in a statement, few statements in all.

To write the same again changes nothing, so whoever is killed in between begins anew.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import orjson
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Executable,
    Float,
    String,
    and_,
    bindparam,
    case,
    column,
    delete,
    exists,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.unit_tests import KEPT_RUNS, SUCCESS, UnitResult
from models.columns import Moment, padded, table_of
from models.repositories.artifacts.reports import test_report
from models.repositories.pipelines.job_rows import job
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.tables.unit_tests import UnitTest, UnitTestRun
from models.typed_rows import all_of, first_of

pipeline = table_of(Pipeline)
project = table_of(Project)
unit_test = table_of(UnitTest)
run = table_of(UnitTestRun)

_SLACK: Final = 20
"""So many runs more than are kept a test may have: trimming reads all that it has."""
_INSERT: Final[Mapping[str, Callable[..., Any]]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
_NAMES: Final = tuple(field.name for field in fields(UnitResult))

_IS_ON_DEFAULT: Final = and_(
    pipeline.c.ref == project.c.default_branch, ~pipeline.c.tag, pipeline.c.merge_request_id.is_(None)
)
_ORIGIN: Final = (
    select(job.c.name, _IS_ON_DEFAULT.label("on_default"))
    .join(pipeline, pipeline.c.id == job.c.pipeline_id)
    .join(project, project.c.id == job.c.project_id)
    .where(job.c.id == bindparam("b_job"))
)
_HOLD: Final = select(job.c.id).where(job.c.id == bindparam("b_job")).with_for_update(read=True, key_share=True)
"""Jobs come first, as everybody locks: whoever removes a project has them, and then takes its tests."""
_IN_ORDER: Final = (
    select(unit_test.c.id)
    .where(unit_test.c.id.in_(bindparam("b_tests", expanding=True)))
    .order_by(unit_test.c.project_id, unit_test.c.key)
    .with_for_update(key_share=True)
)
"""Tests by key, as results are written."""
_FORGET_UNREAD: Final = delete(run).where(
    run.c.job_id == bindparam("b_job"), ~exists().where(test_report.c.job_id == bindparam("b_job"))
)


@dataclass(frozen=True, slots=True)
class Origin:
    """The job whose report it is: its name, and whether it runs on the default branch."""

    name: str
    on_default: bool


@dataclass(frozen=True, slots=True)
class Report:
    """The report that results are of; `among_many` says that it has too many failures to tell anything of one test."""

    project_id: int
    job_id: int
    ran_at: datetime
    on_default: bool
    among_many: bool


@dataclass(frozen=True, slots=True)
class NotedTest:
    """A test of whose runs more is to be done: there are too many, or some have failed lately."""

    id: int
    untrimmed: int
    flaky: str
    failed_at: datetime | None

    @property
    def is_to_be_trimmed(self) -> bool:
        """Whether it has more runs than are kept."""
        return self.untrimmed >= _SLACK

    def has_failed_after(self, moment: datetime) -> bool:
        """Whether it has failed since then."""
        return self.failed_at is not None and self.failed_at > moment


async def origin_of(connection: AsyncConnection, job_id: int) -> Origin | None:
    """The job of a report; None if it is gone."""
    return first_of(Origin, await connection.execute(_ORIGIN, {"b_job": job_id}))


async def put(
    connection: AsyncConnection, of: Report, results: Sequence[UnitResult], recent: timedelta
) -> Sequence[NotedTest]:
    """Keep some results of a report, ordered by key, each key once; the tests of which more is to be done.

    These have too many runs, are marked as flaky, or have failed within `recent`. A job that is gone keeps nothing.
    """
    dialect = connection.dialect.name
    values = {
        **_bound(dialect, results),
        "b_project": of.project_id,
        "b_job": of.job_id,
        "b_at": of.ran_at,
        "b_day": of.ran_at.replace(hour=0, minute=0, second=0, microsecond=0),
        "b_default": of.on_default,
        "b_many": of.among_many,
    }
    if (await connection.execute(_HOLD, {"b_job": of.job_id})).first() is None:
        return []
    written = all_of(NotedTest, await connection.execute(_tests(dialect), values))
    await connection.execute(_runs(dialect), values)
    since = of.ran_at - recent
    return [test for test in written if test.is_to_be_trimmed or test.flaky or test.has_failed_after(since)]


def _bound(dialect: str, results: Sequence[UnitResult]) -> dict[str, Any]:
    rows = [astuple(result) for result in results]
    if dialect == "sqlite":
        return {"b_sent": orjson.dumps(rows).decode()}
    return {f"b_{name}": list(found) for name, found in zip(_NAMES, zip(*rows, strict=True), strict=True)}


@cache
def _sent(dialect: str) -> dict[str, ColumnElement[Any]]:
    """The results as columns of a table: of a JSON document, or of arrays."""
    kinds = {name: Float() if name == "seconds" else String() for name in _NAMES}
    if dialect == "sqlite":
        row = func.json_each(bindparam("b_sent")).table_valued("value", name="sent").c.value
        return {name: func.json_extract(row, f"$[{place}]", type_=kinds[name]) for place, name in enumerate(_NAMES)}
    arrays = [bindparam(f"b_{name}", type_=ARRAY(kind)) for name, kind in kinds.items()]
    found = func.unnest(*arrays).table_valued(*(column(name, kind) for name, kind in kinds.items()), name="sent")
    return dict(found.render_derived().c)


@cache
def _tests(dialect: str) -> Executable:
    sent = _sent(dialect)
    failed = case((and_(sent["status"] != SUCCESS, ~bindparam("b_many")), bindparam("b_at", type_=Moment)))
    written = {
        "project_id": bindparam("b_project"),
        **{name: sent[name] for name in ("key", "suite", "classname", "name", "file")},
        "last_seen": bindparam("b_day", type_=Moment),
        "failed_at": failed,
        "flaky": "",
        "untrimmed": 1,
    }
    statement = _inserted(dialect, unit_test, written, sent["key"].is_not(None))
    new = statement.excluded
    changed = statement.on_conflict_do_update(
        index_elements=["project_id", "key"],
        set_={
            "file": new.file,
            "last_seen": new.last_seen,
            "failed_at": func.coalesce(new.failed_at, unit_test.c.failed_at),
            "untrimmed": unit_test.c.untrimmed + 1,
        },
    )
    returned: Executable = changed.returning(*(unit_test.c[field.name] for field in fields(NotedTest)))
    return returned


@cache
def _runs(dialect: str) -> Executable:
    sent = _sent(dialect)
    which = unit_test.c.project_id == bindparam("b_project"), unit_test.c.key == sent["key"]
    written = {
        "test_id": select(unit_test.c.id).where(*which).scalar_subquery(),
        "job_id": bindparam("b_job"),
        "status": sent["status"],
        "seconds": sent["seconds"],
        "on_default": bindparam("b_default"),
        "among_many": bindparam("b_many"),
        "ran_at": bindparam("b_at", type_=Moment),
    }
    statement = _inserted(dialect, run, written, sent["key"].is_not(None))
    new = statement.excluded
    changed: Executable = statement.on_conflict_do_update(
        index_elements=["test_id", "job_id"], set_={"status": new.status, "seconds": new.seconds}
    )
    return changed


def _inserted(dialect: str, table: Any, written: Mapping[str, Any], which: ColumnElement[bool]) -> Any:
    """SQLite wants a condition where a conflict follows what is selected."""
    columns = [value if isinstance(value, ColumnElement) else bindparam(None, value) for value in written.values()]
    return _INSERT[dialect](table).from_select(list(written), select(*columns).where(which), include_defaults=False)


async def trim(connection: AsyncConnection, test_ids: Collection[int]) -> None:
    """Forget all but the last runs of some tests."""
    await connection.execute(_IN_ORDER, {"b_tests": padded(test_ids)})
    place = func.row_number().over(partition_by=run.c.test_id, order_by=run.c.job_id.desc())
    ranked = select(run.c.test_id, run.c.job_id, place.label("place")).where(run.c.test_id.in_(padded(test_ids)))
    old = ranked.subquery("ranked")
    many = select(old.c.test_id, old.c.job_id).where(old.c.place > KEPT_RUNS)
    await connection.execute(delete(run).where(tuple_(run.c.test_id, run.c.job_id).in_(many)))
    kept = update(unit_test).where(unit_test.c.id.in_(padded(test_ids)))
    await connection.execute(kept.values(untrimmed=0))


async def mark(connection: AsyncConnection, marks: Mapping[int, str]) -> None:
    """Note why tests are flaky, by their ids; empty for one that is not."""
    await connection.execute(_IN_ORDER, {"b_tests": padded(marks)})
    for why in sorted({*marks.values()}):
        which = [test_id for test_id, its in sorted(marks.items()) if its == why]
        await connection.execute(update(unit_test).where(unit_test.c.id.in_(padded(which))).values(flaky=why))


async def forget_unread(connection: AsyncConnection, job_id: int) -> None:
    """Forget the runs of a job whose test report is not kept."""
    await connection.execute(_FORGET_UNREAD, {"b_job": job_id})
