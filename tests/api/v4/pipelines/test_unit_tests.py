"""The history of tests and figures over time, over the REST API."""

from datetime import timedelta
from typing import Any

from domain.pipelines.figures import DAYS
from models.repositories.pipelines.job_rows import job as job_table
from tests.api.pages.projects.test_unit_tests import REPORTING, report
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.merge_requests.test_reports import CONFIG, junit
from tests.api.v4.merge_requests.test_reports import report as hand_in
from tests.api.v4.pipelines.test_pipelines import address
from tests.api.v4.site import Site


async def get(site: Site, path: str, status: int = 200, **query: str) -> Any:
    async with site.client(site.root) as client:
        response = await client.get(address(site, path), params=query)
    assert response.status_code == status, response.text
    return response.json()


async def case_of(site: Site, pipeline_id: int, name: str) -> dict[str, Any]:
    """What the report of a pipeline says of a test."""
    suites = (await get(site, f"/pipelines/{pipeline_id}/test_report"))["test_suites"]
    (found,) = [case for suite in suites for case in suite["test_cases"] if case["name"] == name]
    return dict(found)


async def test_a_report_tells_how_often_a_test_failed_lately_in_the_default_branch(site: Site) -> None:
    first = await report(site, fails=True, names=["adds", "takes"], config=REPORTING)
    second = await report(site, fails=True, names=["adds"], config=REPORTING)
    third = await report(site, fails=False, names=["adds"], config=REPORTING)
    assert (await case_of(site, first, "adds"))["recent_failures"] == {"count": 2, "base_branch": "main"}
    assert (await case_of(site, second, "adds"))["flaky"] == "same_commit"
    takes = await case_of(site, first, "takes")
    assert (takes["recent_failures"], takes["flaky"]) == ({"count": 1, "base_branch": "main"}, None)
    passed = await case_of(site, third, "adds")
    assert (passed["recent_failures"], passed["unit_test_id"], passed["flaky"]) == (None, None, None)
    history = await get(site, f"/unit_tests/{(await case_of(site, first, 'adds'))['unit_test_id']}")
    assert [(run["status"], run["pipeline_id"]) for run in history["runs"]] == [
        ("success", third),
        ("failed", second),
        ("failed", first),
    ]
    assert {run["ref"] for run in history["runs"]} == {"main"}
    assert {run["on_default_branch"] for run in history["runs"]} == {True}
    assert (history["suite"], history["name"], history["recent_failures"]) == ("unit", "adds", 2)
    (flaky,) = await get(site, "/flaky_tests")
    assert flaky == {key: value for key, value in history.items() if key != "runs"}
    async with site.client(site.root) as client:
        page = await client.get(flaky["web_url"].removeprefix(site.services.settings.url))
    assert page.status_code in {200, 303}
    await get(site, "/unit_tests/987654", 404)
    await get(site, "/unit_tests/x", 400)


async def test_another_branch_fails_for_itself(site: Site) -> None:
    await site.set_project(default_branch="trunk")
    pipeline_id = await report(site, fails=True, names=["adds"], config=REPORTING)
    case = await case_of(site, pipeline_id, "adds")
    assert case["recent_failures"] is None
    assert case["unit_test_id"] is not None


async def test_a_merge_request_tells_which_failures_its_target_knows_and_how_coverage_changes(site: Site) -> None:
    here = Merging(site)
    await here.begin(CONFIG)
    await here.commit("main", {"a": "1"})
    (old,) = await here.all_pipelines()
    job = await here.job_of(old["id"])
    response = await site.world.upload(job, junit(a=False, b=True), artifact_type="junit", artifact_format="gzip")
    assert response.status_code == 201, response.text
    assert (await site.world.put(job, "failed", b"")).status_code == 200
    await site.world.settle(old["id"])
    new = (await here.feature("feature"))["head_pipeline"]["id"]
    await hand_in(here, new, junit=junit(a=False, b=False))
    async with site.services.database.write() as connection:
        for pipeline_id, percent in ((old["id"], 80.0), (new, 82.5)):
            of = job_table.c.pipeline_id == pipeline_id
            await connection.execute(job_table.update().where(of).values(coverage=percent))
    compared = await here.good("GET", "merge_requests/1/reports")
    assert compared["job_coverage"] == {"base": 80.0, "head": 82.5, "change": 2.5}
    tests = compared["tests"]
    (existing,), (fresh,) = tests["existing_failures"], tests["new_failures"]
    assert (existing["name"], existing["recent_failures"]) == ("a", {"count": 1, "base_branch": "main"})
    assert (fresh["name"], fresh["recent_failures"]) == ("b", None)
    assert {existing["unit_test_id"], fresh["unit_test_id"]}.isdisjoint({None})


async def test_figures_of_jobs_and_coverage_by_day(site: Site) -> None:
    await report(site, fails=False, names=["a"], config=REPORTING)
    await report(site, fails=True, names=["a"], config=REPORTING)
    now = site.services.clock()
    async with site.services.database.write() as connection:
        times = {"started_at": now - timedelta(seconds=8), "finished_at": now, "coverage": 81.5}
        await connection.execute(job_table.update().values(times))
    jobs = await get(site, "/figures/jobs")
    assert jobs["complete"] is True
    assert jobs["since"] < (now - timedelta(days=DAYS - 1)).isoformat()
    figures = {"count": 2, "success_rate": 50.0, "p50": 8.0, "p95": 8.0}
    assert jobs["jobs"] == [{"name": "unit", **figures}]
    days = await get(site, "/figures/days", name="unit")
    today = now.date().isoformat()
    assert (days["name"], days["days"]) == ("unit", [{"day": today, **figures}])
    assert (await get(site, "/figures/days", name="other"))["days"] == []
    await get(site, "/figures/days", 400)
    coverage = await get(site, "/figures/coverage")
    assert coverage["ref"] == "main"
    assert [(row["day"], row["coverage"]) for row in coverage["days"]] == [(today, 81.5)]
