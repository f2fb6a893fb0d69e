"""The other views of a pipeline: jobs, timeline, failures, tests, findings, configuration, history."""

import re
from datetime import timedelta
from typing import Any

import httpx
import orjson

from auth.permissions import DEVELOPER, MAINTAINER, REPORTER
from loops.archiver import Archiver
from loops.reports import ReportLoop
from models.repositories.artifacts import reports
from models.repositories.pipelines import configurations, overview
from models.repositories.pipelines.job_rows import job as job_table
from tests.api.pages.pipelines.shapes import layered
from tests.api.pages.pipelines.test_pipeline import GRAPH, run_next, text_of
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site


def listed_in(page: str) -> list[str]:
    """The names of the jobs of a list."""
    return re.findall(r'<span class="job-name"><a class="title" href="[^"]*"><bdi>([^<]*)</bdi>', page)


async def test_jobs_are_listed_page_by_page(site: Site) -> None:
    pipeline = await site.world.pipeline(layered(250))
    names = []
    for number in (1, 2, 3):
        names += listed_in(await text_of(site, f"/{pipeline}/builds?page={number}"))
    assert names == [f"job-{number}" for number in range(250)]
    assert "250 jobs" in await text_of(site, f"/{pipeline}/builds")
    assert listed_in(await text_of(site, f"/{pipeline}/builds?page=4")) == []


async def test_jobs_are_narrowed_by_state_stage_and_name(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    await run_next(site, pipeline, "failed")

    async def found(query: str) -> list[str]:
        return listed_in(await text_of(site, f"/{pipeline}/builds?{query}"))

    assert await found("state=failed") == ["compile"]
    assert await found("stage=test") == ["unit 1/3", "unit 2/3", "unit 3/3", "report"]
    assert await found("name=UNIT") == ["unit 1/3", "unit 2/3", "unit 3/3"]
    assert await found("name=1%25") == [], "what means something to LIKE is only text"
    assert await found("state=pending&stage=build") == ["lint"]
    assert len(await found("state=nonsense")) == 7
    assert "No job is like that" in await text_of(site, f"/{pipeline}/builds?name=nothing")
    page = await text_of(site, f"/{pipeline}/builds?state=failed&name=comp")
    assert '<option value="failed" selected>' in page
    assert 'value="comp"' in page


async def test_each_job_that_has_not_passed_says_why(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    await run_next(site, pipeline, "failed")
    page = await text_of(site, f"/{pipeline}/builds")
    assert page.count('class="job-why small" data-text') == 7
    assert "Its script failed with exit code 2." in page
    assert "is number 1 of 1 in the queue" in page or "A runner that fits" in page or "runner" in page
    failures = await text_of(site, f"/{pipeline}/failures")
    assert listed_in(failures) == ["compile"]
    assert "Its script failed with exit code 2." in failures
    assert "Log at the failure" in failures


async def test_no_failure_is_said(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    assert "No job has failed" in await text_of(site, f"/{pipeline}/failures")


async def test_bars_show_waiting_and_running_and_earlier_attempts(site: Site) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline("one: {script: x}\ntwo: {script: x}\n")
    assert "queue" in await text_of(site, f"/{pipeline}/timeline")
    first = await run_next(site, pipeline, "failed")
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        await client.post(f"/{await site.path()}/-/jobs/{first}/retry")
    await site.world.settle(pipeline)
    now = site.services.clock()
    async with site.services.database.write() as connection:
        times = {
            "queued_at": now - timedelta(seconds=90),
            "started_at": now - timedelta(seconds=60),
            "finished_at": now,
        }
        await connection.execute(job_table.update().where(job_table.c.id == first).values(times))
        await connection.execute(overview.pipeline.update().values(created_at=now - timedelta(seconds=100)))
    page = await text_of(site, f"/{pipeline}/timeline")
    bars = re.findall(r'<g id="t-\d+" class="bar ([^"]*)".*?<title>([^<]*)</title>', page, re.DOTALL)
    assert len(bars) == 3
    ((kinds, told),) = [bar for bar in bars if "old" in bar[0]]
    assert "failed" in kinds
    assert "one (attempt 1): failed; waited 30 s" in told
    assert "ran 1 min 0 s" in told
    assert f'href="/{await site.path()}/-/jobs/{first}"' in page
    assert re.search(r'class="piece run" x="[\d.]+" y="5" width="[\d.]+"', page)
    assert 'style="' not in page


async def test_a_bar_shows_preparing_though_nobody_has_opened_the_job(site: Site) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\n")
    job = await site.world.job()
    now = site.services.clock()
    begin = now - timedelta(seconds=60)
    log = b"Preparing\nsection_start:%d:step_script\r\x1b[0KGo\n" % (int(begin.timestamp()) + 20)
    async with site.services.database.write() as connection:
        of_job = job_table.update().where(job_table.c.id == job["id"])
        await connection.execute(of_job.values(queued_at=begin, started_at=begin))
        await connection.execute(overview.pipeline.update().values(created_at=begin))
    await site.world.patch(job, 0, log)
    assert 'class="piece prepare"' not in await text_of(site, f"/{pipeline}/timeline")
    await site.world.put(job, "success", log)
    services = site.services
    assert await Archiver(services.database, services.store, services.notifications).move() == 1
    page = await text_of(site, f"/{pipeline}/timeline")
    assert re.search(r"one: \w+; was prepared for (19|20) s, from 0; ran \d+ s, from (19|20) s", page)
    assert 'class="piece prepare"' in page


async def test_a_timeline_of_nothing_says_so(site: Site) -> None:
    pipeline = await site.world.pipeline("one: {script: x, when: manual}\n")
    assert "Nothing has waited or run yet" in await text_of(site, f"/{pipeline}/timeline")


async def hand_in(site: Site, file_type: str, document: Any, name: str = "one") -> int:
    """A pipeline whose job hands in a report of security or quality; its id."""
    config = f"{name}: {{script: x, artifacts: {{reports: {{{file_type}: r.json}}}}}}\n"
    pipeline = await site.world.pipeline(config)
    job = await site.world.job()
    sent = await site.world.upload(job, orjson.dumps(document), artifact_type=file_type, artifact_format="raw")
    assert sent.status_code == 201, sent.text
    await site.world.put(job, "success")
    await site.world.settle(pipeline)
    services = site.services
    await ReportLoop(services.database, services.store, services.notifications).parse()
    return pipeline


def finding(severity: str, name: str) -> dict[str, Any]:
    """A finding as scanners write it."""
    return {"severity": severity, "name": name, "location": {"file": f"{name}.py", "start_line": 3}, "identifiers": []}


async def test_findings_are_sorted_and_narrowed_by_severity(site: Site) -> None:
    found = [finding("Low", "small"), finding("Critical", "<script>alert(1)</script>"), finding("Medium", "middling")]
    pipeline = await hand_in(site, "sast", {"vulnerabilities": found})
    page = await text_of(site, f"/{pipeline}/security")
    order = [page.index(text) for text in ("&lt;script&gt;alert", ">middling<", ">small<")]
    assert order == sorted(order)
    assert "<script>alert" not in page
    assert re.search(r"Security\s*<span class=\"count\">3</span>", page)
    only = await text_of(site, f"/{pipeline}/security?severity=low")
    assert ">small<" in only
    assert ">middling<" not in only
    assert "small.py:3" in only
    quality = await text_of(site, f"/{pipeline}/codequality_report")
    assert "No job has handed in a report on the quality of the code" in quality


async def test_quality_is_told_from_the_worst(site: Site) -> None:
    issues = [
        {
            "description": text,
            "check_name": "c",
            "fingerprint": text,
            "severity": severity,
            "location": {"path": "a.py"},
        }
        for severity, text in (("minor", "spaces"), ("blocker", "loops"))
    ]
    pipeline = await hand_in(site, "codequality", issues)
    page = await text_of(site, f"/{pipeline}/codequality_report")
    assert page.index(">loops<") < page.index(">spaces<")
    assert "Nothing of that severity" in await text_of(site, f"/{pipeline}/codequality_report?severity=major")


async def test_findings_are_paged_in_the_database(site: Site) -> None:
    found = [finding("High", f"finding-{number:03}") for number in range(230)]
    pipeline = await hand_in(site, "sast", {"vulnerabilities": found})
    shown = []
    for number in (1, 2, 3):
        page = await text_of(site, f"/{pipeline}/security?page={number}")
        shown += re.findall(r'<bdi class="title">(finding-\d+)</bdi>', page)
    assert shown == [f"finding-{number:03}" for number in range(230)]


async def test_tests_are_paged_the_failing_ones_first(site: Site) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\ntwo: {script: x}\n")
    async with site.services.database.read() as connection:
        ids = (await connection.execute(job_table.select().where(job_table.c.pipeline_id == pipeline))).all()
    cases = [
        {
            "name": f"case-{number:03}",
            "classname": "c",
            "status": "failed" if number % 50 == 0 else "success",
            "seconds": number / 10,
            "attachment": {100: "shots/<a>.png", 50: "shots/a.log"}.get(number, ""),
        }
        for number in range(150)
    ]
    async with site.services.database.write() as connection:
        for row in ids:
            bad = sum(case["status"] == "failed" for case in cases)
            figures = {"total": 150, "failed": bad, "errored": 0, "skipped": 0, "seconds": 3.5}
            await reports.put_tests(connection, job_id=row.id, pipeline_id=pipeline, cases=cases, error="", **figures)
    first, last = [await text_of(site, f"/{pipeline}/test_report?page={number}") for number in (1, 3)]
    assert "6 tests fail" in first
    names = re.findall(r'<bdi class="title">(case-\d+)</bdi>', first)
    assert names[:6] == ["case-100", "case-100", "case-050", "case-050", "case-000", "case-000"]
    assert names[6:8] == ["case-149", "case-149"]
    assert len(names) == 100
    assert len(re.findall(r'<bdi class="title">(case-\d+)</bdi>', last)) == 100
    assert "tests fail</h2>" not in last
    only = await text_of(site, f"/{pipeline}/test_report?job={ids[0].id}")
    files = f"/{await site.path()}/-/jobs/{ids[0].id}/artifacts"
    assert f'<img class="picture" loading="lazy" src="{files}/raw/shots/%3Ca%3E.png" alt="shots/&lt;a&gt;.png">' in only
    assert re.search(f'href="{files}/file/shots/a.log"><bdi[^>]*>shots/a.log', only)
    assert only.count("/artifacts/file/") == 2
    assert "3 tests fail" in only
    assert "Only the tests of" in only
    assert len(re.findall(r'<bdi class="title">(case-\d+)</bdi>', only)) == 100


async def test_the_configuration_stands_beside_its_clauses(site: Site) -> None:
    config = "build: {script: make}\nlate: {script: x, rules: [{if: $NEVER}]}\nmany: {script: y, parallel: 2}\n"
    pipeline = await site.world.pipeline(config)
    page = await text_of(site, f"/{pipeline}/config")
    assert "3 jobs, and what let each in" in page
    assert "1 job is not in this pipeline" in page
    assert "$NEVER" in page
    assert "many:\n  script:" in page or "many:\n  script: y" in page
    assert page.count("parallel: 2") == 3, "beside each instance, and in the whole"
    async with browser(site, site.root) as client:
        file = await client.get(f"/{await site.path()}/-/pipelines/{pipeline}/config.yml")
    assert file.status_code == 200
    assert file.headers["content-type"].startswith("text/plain")
    assert "build:\n  script: make\n" in file.text


async def test_only_who_may_run_pipelines_sees_the_yaml(site: Site) -> None:
    pipeline = await site.world.pipeline("build: {script: make-it-secretly}\n")
    reporter, developer = await site.person("rita", REPORTER), await site.person("dora", DEVELOPER)
    assert "make-it-secretly" in await text_of(site, f"/{pipeline}/config", developer)
    page = await text_of(site, f"/{pipeline}/config", reporter)
    assert "make-it-secretly" not in page
    assert "Only who may run pipelines of this project sees the merged YAML" in page
    async with browser(site, reporter) as client:
        refused = await client.get(f"/{await site.path()}/-/pipelines/{pipeline}/config.yml")
    assert refused.status_code == 403


async def test_a_pipeline_without_a_kept_configuration_says_so(site: Site) -> None:
    pipeline = await site.world.pipeline("build: {script: make}\n")
    async with site.services.database.write() as connection:
        await connection.execute(configurations.config.delete())
    assert "The configuration of this pipeline was not kept" in await text_of(site, f"/{pipeline}/config")
    async with browser(site, site.root) as client:
        gone = await client.get(f"/{await site.path()}/-/pipelines/{pipeline}/config.yml")
    assert gone.status_code == 404


async def test_masked_variables_are_in_no_configuration(site: Site) -> None:
    secret = "a-secret-of-the-project"  # what must not show
    await site.masked_variable(secret)
    await site.commit({".gitlab-ci.yml": "build: {script: 'echo $SECRET', rules: [{if: $SECRET}]}\n"})
    async with site.client(site.root) as client:
        made = await client.post(f"/api/v4/projects/{site.world.project_id}/pipeline", json={"ref": "main"})
    assert made.status_code == 201, made.text
    page = await text_of(site, f"/{made.json()['id']}/config")
    assert "echo $SECRET" in page
    assert secret not in page
    assert "[masked]" in page


async def test_history_tells_who_did_what(site: Site) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline("one: {script: x}\nlater: {stage: deploy, script: x, when: manual}\n")
    first = await run_next(site, pipeline, "failed")
    dora = await site.person("dora", MAINTAINER)

    async def press(path: str) -> httpx.Response:
        async with browser(site, dora, Origin=site.services.settings.url) as client:
            return await client.post(f"/{await site.path()}/-{path}")

    assert (await press(f"/jobs/{first}/retry")).status_code == 303
    assert (await press(f"/pipelines/{pipeline}/cancel")).status_code == 303
    page = await text_of(site, f"/{pipeline}/history")
    lines = [
        re.sub(r"<[^>]+>|\s+", " ", line).strip()
        for line in re.findall(r"<li><span class=\"history.*?</li>", page, re.DOTALL)
    ]
    told = "\n".join(re.sub(r"\s+", " ", line) for line in lines)
    assert "root made the pipeline push" in told
    assert "Started one" in told
    assert "by runner #" in told
    assert "Failed one script failure, exit code 2" in told
    assert "dora retried one" in told
    assert "Attempt 2 was made one attempt 2 as dora" in told
    assert "dora asked to cancel the pipeline" in told
    assert told.index("asked to cancel") < told.index("dora retried") < told.index("made the pipeline"), "newest first"


async def test_unknown_callers_are_told_as_such(site: Site) -> None:
    from domain.messages import Command

    pipeline = await site.world.pipeline("one: {script: x}\n")
    job = await run_next(site, pipeline, "failed")
    await site.world.settle(pipeline, Command("retry_job", "by-hand", job))
    page = await text_of(site, f"/{pipeline}/history")
    assert "Somebody unknown (a signal by hand in Temporal)" in page
    assert "somebody unknown, in Temporal" in page
