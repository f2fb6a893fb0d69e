"""Tests by their history: the last runs of one, and which are flaky. These paths are our own."""

from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import Id, ProjectDep
from api.v4.pagination import PagingDep
from domain.moments import moment
from models.repositories.artifacts import unit_test_runs
from models.repositories.artifacts.unit_test_runs import RunRow, UnitTestRow
from models.repositories.paging import slice_of

router = RouteList(prefix="/projects/{project}")


class UnitTestResponse(TypedDict):
    """A test. `suite` is the name of the jobs that ran it; texts of more than 1,000 characters are cut.

    `flaky` says why it counts as flaky: it failed and passed on the same commit (`same_commit`), or changes often on
    the default branch (`alternates`). `recent_failures` counts the jobs of the default branch that failed by it in the
    last 14 days.
    """

    id: int
    suite: str
    classname: str
    name: str
    file: str | None
    flaky: str | None
    recent_failures: int
    failed_at: str | None
    web_url: str


class UnitTestRunResponse(TypedDict):
    """What became of a test in a job: `success`, `failed` or `error`; `execution_time` in seconds."""

    status: str
    execution_time: float
    ran_at: str
    on_default_branch: bool
    ref: str
    sha: str
    job_id: int
    job_name: str
    pipeline_id: int


class UnitTestHistoryResponse(UnitTestResponse):
    """A test with its last 100 runs, the newest first."""

    runs: list[UnitTestRunResponse]


@router.get("/flaky_tests", response_model=list[UnitTestResponse])
async def list_flaky_tests(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The flaky tests of a project, first what failed last. None that has not failed in the last 14 days is there."""
    async with services.database.read() as connection:
        listing = unit_test_runs.flaky(project.row.id, services.clock())
        page = await slice_of(connection, listing, paging.number, paging.size)
    address = f"{services.settings.url}/{project.row.full_path}"
    return paging.response([dict(_test(row, address)) for row in page.rows], page.total)


@router.get("/unit_tests/{unit_test_id}")
async def get_unit_test(unit_test_id: Id, project: ProjectDep, services: ServicesDep) -> UnitTestHistoryResponse:
    """A test with its last 100 runs; those that were skipped are none."""
    async with services.database.read() as connection:
        row = await unit_test_runs.get(connection, project.row.id, unit_test_id, services.clock())
        runs = await unit_test_runs.last_runs(connection, row.id)
    address = f"{services.settings.url}/{project.row.full_path}"
    return {**_test(row, address), "runs": [_run(run) for run in runs]}


def _test(row: UnitTestRow, address: str) -> UnitTestResponse:
    return {
        "id": row.id,
        "suite": row.suite,
        "classname": row.classname,
        "name": row.name,
        "file": row.file or None,
        "flaky": row.flaky or None,
        "recent_failures": row.recent_failures,
        "failed_at": moment(row.failed_at),
        "web_url": f"{address}/-/unit_tests/{row.id}",
    }


def _run(row: RunRow) -> UnitTestRunResponse:
    return {
        "status": row.status,
        "execution_time": row.seconds,
        "ran_at": moment(row.ran_at),
        "on_default_branch": row.on_default,
        "ref": row.ref,
        "sha": row.sha,
        "job_id": row.job_id,
        "job_name": row.job_name,
        "pipeline_id": row.pipeline_id,
    }
