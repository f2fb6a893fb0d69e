"""Pipelines over the REST API."""

import pytest

from tests.api.v4.site import Site

CONFIG = "build: {stage: build, script: make}\n"


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}{rest}"


async def test_a_pipeline_is_made_for_a_branch(site: Site) -> None:
    sha = await site.commit({".gitlab-ci.yml": CONFIG})
    async with site.client(site.root) as client:
        body = {"ref": "main", "variables": [{"key": "DEPLOY", "value": "yes", "variable_type": "env_var"}]}
        made = await client.post(address(site, "/pipeline"), json=body)
        assert made.status_code == 201, made.text
        pipeline = made.json()
        jobs = (await client.get(address(site, f"/pipelines/{pipeline['id']}/jobs"))).json()
        variables = (await client.get(address(site, f"/pipelines/{pipeline['id']}/variables"))).json()
        latest = (await client.get(address(site, "/pipelines/latest"))).json()
    assert (pipeline["sha"], pipeline["ref"], pipeline["source"], pipeline["tag"]) == (sha, "main", "api", False)
    assert (pipeline["status"], pipeline["user"]["username"]) == ("created", "root")
    assert pipeline["created_at"].endswith("Z")
    assert len(pipeline["created_at"]) == len("2026-01-01T00:00:00.000Z")
    assert pipeline["detailed_status"]["text"] == "Created"
    assert [(job["name"], job["stage"], job["status"], job["attempt"]) for job in jobs] == [
        ("build", "build", "created", 1)
    ]
    assert jobs[0]["commit"]["title"] == "First"
    assert jobs[0]["pipeline"]["id"] == pipeline["id"] == latest["id"]
    assert variables == [{"variable_type": "env_var", "raw": False, "key": "DEPLOY", "value": "yes"}]


@pytest.mark.parametrize(
    ("config", "ref", "words"),
    [
        (CONFIG, "nowhere", "Reference not found"),
        (CONFIG, "ma", "Reference not found"),
        (CONFIG, "a..b", "is not the name of a branch"),
        (None, "main", "Missing CI config file"),
        ("a: {scrip: 1}\nb: {stage: nowhere, script: x}\n", "main", ".gitlab-ci.yml:"),
    ],
)
async def test_what_cannot_become_a_pipeline_is_explained(site: Site, config: str | None, ref: str, words: str) -> None:
    await site.commit({"README": "x"} if config is None else {".gitlab-ci.yml": config})
    async with site.client(site.root) as client:
        response = await client.post(address(site, "/pipeline"), json={"ref": ref})
        pipelines = (await client.get(address(site, "/pipelines"))).json()
    assert response.status_code == 400
    assert words in str(response.json()["message"])
    assert pipelines == []


async def test_every_fault_of_a_configuration_is_named(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": "a: {stage: nowhere, script: x}\nb: {stage: neither, script: x}\n"})
    async with site.client(site.root) as client:
        response = await client.post(address(site, "/pipeline"), json={"ref": "main"})
    assert len(response.json()["message"]["base"]) >= 2


async def test_lists_are_filtered(site: Site) -> None:
    first = await site.world.pipeline()
    second = await site.world.pipeline("x: {script: y}\n", tag=True)
    async with site.client(site.root) as client:

        async def ids(**query: str) -> list[int]:
            response = await client.get(address(site, "/pipelines"), params=query)
            assert response.status_code == 200, response.text
            return [item["id"] for item in response.json()]

        assert await ids() == [second, first]
        assert await ids(sort="asc") == [first, second]
        assert await ids(scope="tags") == [second]
        assert await ids(ref="main", source="push") == [second, first]
        assert await ids(sha="0" * 40) == []
        assert await ids(status="success") == []
        assert await ids(updated_after="2999-01-01T00:00:00Z") == []
        assert await ids(updated_before="2999-01-01T00:00:00Z", order_by="updated_at") == [second, first]
        naive = await client.get(address(site, "/pipelines"), params={"updated_after": "2020-01-01T00:00:00"})
        wrong = await client.get(address(site, "/pipelines"), params={"order_by": "commit"})
    assert (naive.status_code, wrong.status_code) == (400, 400)


async def test_a_canceled_pipeline_is_shown_as_it_then_is_and_canceled_once(site: Site) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline()
    async with site.client(site.root) as client:
        canceled = await client.post(address(site, f"/pipelines/{pipeline}/cancel"))
        # A verdict of an awaited job is folded by the next turn.
        await site.world.settle(pipeline)
        again = await client.post(address(site, f"/pipelines/{pipeline}/cancel"))
        retried = await client.post(address(site, f"/pipelines/{pipeline}/retry"))
    assert canceled.status_code == 200
    assert canceled.json()["id"] == pipeline
    assert (again.status_code, again.json()["id"], again.json()["status"]) == (200, pipeline, "canceled")
    assert "nothing to cancel" in again.json()["notice"]
    await site.world.settle(pipeline)
    async with site.client(site.root) as client:
        after = (await client.get(address(site, f"/pipelines/{pipeline}"))).json()
    assert (retried.status_code, retried.json()["id"]) == (201, pipeline)
    assert after["status"] == "running"


async def test_a_finished_pipeline_is_canceled_and_retried_without_effect(site: Site) -> None:
    """As in GitLab: nothing is left to do, and that is no error."""
    site.connect_temporal()
    pipeline = await site.world.pipeline("one: {script: x}\n")
    await site.world.put(await site.world.job(), "success", b"")
    await site.world.settle(pipeline)
    async with site.client(site.root) as client:
        canceled = await client.post(address(site, f"/pipelines/{pipeline}/cancel"))
        retried = await client.post(address(site, f"/pipelines/{pipeline}/retry"))
    assert (canceled.status_code, canceled.json()["status"]) == (200, "success")
    assert canceled.json()["notice"] == f"Pipeline {pipeline} is success; there is nothing to cancel."
    assert (retried.status_code, retried.json()["status"]) == (201, "success")
    assert "no failed, canceled or skipped job" in retried.json()["notice"]


async def test_without_temporal_a_command_is_kept_and_its_key_told(site: Site) -> None:
    pipeline = await site.world.pipeline()
    async with site.client(site.root) as client:
        response = await client.post(address(site, f"/pipelines/{pipeline}/cancel"))
    assert response.status_code == 202
    assert set(response.json()) == {"key", "message"}
    from sqlalchemy import select

    from models.repositories.pipelines.outbox import COMMAND, outbox

    async with site.services.database.read() as connection:
        (row,) = (await connection.execute(select(outbox).where(outbox.c.kind == COMMAND))).all()
    assert row.payload["key"] == response.json()["key"]


async def test_a_test_report_has_one_suite_for_each_job(site: Site) -> None:
    pipeline = await site.world.pipeline()
    job = await site.world.job()
    case = {"name": "adds", "classname": "Calc", "file": "", "seconds": 0.5, "status": "failed", "message": "1 != 2"}
    seen = {**case, "attachment": "shots/a b?.png"}
    from models.repositories.artifacts import reports

    async with site.services.database.write() as connection:
        await reports.put_tests(
            connection,
            job_id=job["id"],
            pipeline_id=pipeline,
            total=3,
            failed=1,
            errored=0,
            skipped=1,
            seconds=0.75,
            cases=[case, seen],
            error="",
        )
    async with site.client(site.root) as client:
        report = (await client.get(address(site, f"/pipelines/{pipeline}/test_report"))).json()
        summary = (await client.get(address(site, f"/pipelines/{pipeline}/test_report_summary"))).json()
    assert (report["total_count"], report["success_count"], report["failed_count"]) == (3, 1, 1)
    (suite,) = report["test_suites"]
    assert (suite["name"], suite["skipped_count"], suite["suite_error"]) == ("build", 1, None)
    assert suite["test_cases"][0]["system_output"] == "1 != 2"
    assert suite["test_cases"][0]["execution_time"] == 0.5
    assert "attachment_url" not in suite["test_cases"][0]
    place = f"{site.services.settings.url}/{await site.path()}/-/jobs/{job['id']}/artifacts/file/shots/a%20b%3F.png"
    assert suite["test_cases"][1]["attachment_url"] == place
    total = {"time": 0.75, "count": 3, "success": 1, "failed": 1, "skipped": 1, "error": 0, "suite_error": None}
    assert summary["total"] == total
    (suite,) = summary["test_suites"]
    assert (suite["name"], suite["build_ids"], "test_cases" in suite) == ("build", [job["id"]], False)


async def test_reports_of_all_kinds_are_counted_by_kind(site: Site) -> None:
    from models.repositories.artifacts import reports

    pipeline = await site.world.pipeline()
    job = await site.world.job()
    of_job = {"job_id": job["id"], "pipeline_id": pipeline}
    async with site.services.database.write() as connection:
        await reports.put_tests(connection, **of_job, total=3, failed=1, errored=0, skipped=0, seconds=1.0, cases=[])
        await reports.put(connection, **of_job, kind="dotenv", total=1, entries=[{"key": "A", "value": "secret"}])
        await reports.put(connection, **of_job, kind="sast", total=2, summary={"high": 2}, entries=[{}, {}])
        await reports.put(connection, **of_job, kind="dast", error="The security report is not JSON.")
    async with site.client(site.root) as client:
        response = await client.get(address(site, f"/pipelines/{pipeline}/reports"))
    shown = response.json()
    assert [(item["kind"], item["total"], item["summary"]) for item in shown] == [
        ("junit", 3, {"failed": 1, "errored": 0, "skipped": 0, "success": 2}),
        ("dast", 0, {}),
        ("dotenv", 1, {}),
        ("sast", 2, {"high": 2}),
    ]
    assert shown[1]["jobs"][0]["error"] == "The security report is not JSON."
    assert [job["name"] for item in shown for job in item["jobs"]] == ["build"] * 4
    assert "secret" not in response.text
