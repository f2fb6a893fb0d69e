"""Jobs and their logs over the REST API."""

from typing import Any

from application.pipelines.sealed_values import opened_variables
from loops.archiver import Archiver
from tests.api.v4.site import Site

MANUAL = "ask: {script: x, when: manual}\n"


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}/jobs{rest}"


async def finished(site: Site, status: str = "failed", log: bytes = b"", **body: Any) -> int:
    job = await site.world.job()
    if log:
        assert (await site.world.patch(job, 0, log)).status_code == 202
    assert (await site.world.put(job, status, log or None, **body)).status_code == 200
    return int(job["id"])


async def test_a_job_that_ended_shows_its_verdict_before_it_is_folded(site: Site) -> None:
    await site.world.pipeline()
    job_id = await finished(site, failure_reason="script_failure", exit_code=3)
    async with site.client(site.root) as client:
        job = (await client.get(address(site, f"/{job_id}"))).json()
        listed = (await client.get(address(site), params={"scope[]": ["failed", "success"]})).json()
        wrong = await client.get(address(site), params={"scope": "broken"})
    assert (job["status"], job["failure_reason"], job["exit_code"]) == ("failed", "script_failure", 3)
    assert job["duration"] >= 0
    assert job["queued_duration"] >= 0
    assert job["finished_at"].endswith("Z")
    assert job["runner"]["description"] == "a runner of tests"
    assert job["web_url"].endswith(f"/-/jobs/{job_id}")
    assert [item["id"] for item in listed] == [job_id]
    assert wrong.status_code == 400


async def test_a_job_names_the_process_that_ran_it(site: Site) -> None:
    await site.world.pipeline("one: {script: x}\ntwo: {script: x}\n")
    info = {"version": "17.8.0", "revision": "abc", "platform": "linux", "architecture": "amd64"}
    named = (await site.world.request(system_id="s_one", info=info)).json()
    unnamed = (await site.world.request(system_id="", info=info)).json()
    async with site.client(site.root) as client:
        shown = {job["id"]: job for job in (await client.get(address(site))).json()}
        runner = shown[named["id"]]["runner"]
        managers = {row["id"]: row for row in (await client.get(f"/api/v4/runners/{runner['id']}/managers")).json()}
    process = shown[named["id"]]["runner_manager"]
    assert process == managers[process["id"]]
    assert {**process, **info, "system_id": "s_one", "status": "online", "job_execution_status": "running"} == process
    assert shown[unnamed["id"]]["runner_manager"]["system_id"] == "<legacy>"


async def test_a_job_that_nobody_took_names_no_process(site: Site) -> None:
    await site.world.pipeline(MANUAL)
    async with site.client(site.root) as client:
        (job,) = (await client.get(address(site))).json()
    assert (job["runner"], job["runner_manager"]) == (None, None)


async def test_reasons_of_our_own_are_shown_in_gitlabs_words(site: Site) -> None:
    from domain.pipelines.status import Status
    from models.repositories.pipelines.verdicts import end_jobs

    await site.world.pipeline()
    job = await site.world.job()
    async with site.services.database.write() as connection:
        await end_jobs(connection, [job["id"]], Status.FAILED, site.services.clock(), reason="runner_lost")
    async with site.client(site.root) as client:
        shown = (await client.get(address(site, f"/{job['id']}"))).json()
    assert shown["failure_reason"] == "no_updates_running"


async def test_a_retry_answers_the_new_attempt(site: Site) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline()
    job_id = await finished(site)
    async with site.client(site.root) as client:
        retried = await client.post(address(site, f"/{job_id}/retry"))
        again = await client.post(address(site, f"/{job_id}/retry"))
        jobs = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs"
        latest = (await client.get(jobs)).json()
        everything = (await client.get(jobs, params={"include_retried": "true"})).json()
    assert retried.status_code == 201
    assert retried.json()["id"] != job_id
    assert (retried.json()["attempt"], retried.json()["name"]) == (2, "build")
    assert again.status_code == 403
    assert again.json()["message"] == "403 Forbidden - Job is not retryable"
    assert job_id not in {item["id"] for item in latest}
    assert {item["id"] for item in everything} == {item["id"] for item in latest} | {job_id}


async def test_a_manual_job_is_played_with_variables(site: Site) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline(MANUAL)
    async with site.client(site.root) as client:
        jobs = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs"
        (job,) = (await client.get(jobs)).json()
        assert job["status"] == "manual"
        variables = [{"key": "TARGET", "value": "moon"}]
        played = await client.post(address(site, f"/{job['id']}/play"), json={"job_variables_attributes": variables})
        unplayable = await client.post(address(site, f"/{job['id']}/play"))
        bad = await client.post(
            address(site, f"/{job['id']}/play"), json={"job_variables_attributes": [{"key": "A B", "value": ""}]}
        )
    assert (played.status_code, played.json()["status"]) == (200, "pending")
    assert opened_variables(site.services.sealer, (await site.world.row(job["id"])).variables) == variables
    assert (unplayable.status_code, unplayable.json()["message"]) == (400, "400 Bad request - Unplayable Job")
    assert bad.status_code == 400


async def test_a_finished_job_is_played_again_only_if_it_was_manual(site: Site) -> None:
    """As in GitLab, where `playable?` asks for an action first."""
    site.connect_temporal()
    await site.world.pipeline()
    job_id = await finished(site)
    pipeline = await site.world.pipeline(MANUAL)
    async with site.client(site.root) as client:
        refused = await client.post(address(site, f"/{job_id}/play"))
        (job,) = (await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs")).json()
        await client.post(address(site, f"/{job['id']}/play"))
        await client.post(address(site, f"/{job['id']}/cancel"))
        again = await client.post(address(site, f"/{job['id']}/play"))
    assert (refused.status_code, refused.json()["message"]) == (400, "400 Bad request - Unplayable Job")
    assert "only a manual or delayed job can be played" in refused.json()["reason"]
    assert again.status_code == 200
    assert again.json()["id"] != job["id"]


async def test_a_manual_job_whose_turn_has_not_come_says_what_it_waits_for(site: Site) -> None:
    site.connect_temporal()
    config = "stages: [build, ship]\nbuild: {stage: build, script: x}\ngo: {stage: ship, script: x, when: manual}\n"
    pipeline = await site.world.pipeline(config)
    async with site.client(site.root) as client:
        jobs = (await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs")).json()
        (gate,) = [job for job in jobs if job["name"] == "go"]
        response = await client.post(address(site, f"/{gate['id']}/play"))
    assert (response.status_code, response.json()["message"]) == (400, "400 Bad request - Unplayable Job")
    assert "It waits for stage build: build (pending or running)." in response.json()["reason"]


async def test_a_job_that_has_ended_is_canceled_without_effect(site: Site) -> None:
    """As in GitLab."""
    site.connect_temporal()
    await site.world.pipeline()
    job = await site.world.job()
    await site.world.put(job, "success", b"")
    async with site.client(site.root) as client:
        response = await client.post(address(site, f"/{job['id']}/cancel"))
    assert (response.status_code, response.json()["status"]) == (201, "success")


async def test_a_running_job_is_canceled(site: Site) -> None:
    site.connect_temporal()
    await site.world.pipeline()
    job = await site.world.job()
    async with site.client(site.root) as client:
        canceled = await client.post(address(site, f"/{job['id']}/cancel"))
        again = await client.post(address(site, f"/{job['id']}/cancel"))
    assert (canceled.status_code, canceled.json()["status"]) == (201, "canceling")
    assert (again.status_code, again.json()["status"]) == (201, "canceling")
    assert "nothing to cancel" in again.json()["notice"]


async def test_maintainers_end_a_job_that_does_not_stop(site: Site) -> None:
    site.connect_temporal()
    await site.world.pipeline()
    job = await site.world.job()
    path = address(site, f"/{job['id']}/cancel")
    developer, maintainer = await site.person("dev", 30), await site.person("chief", 40)
    async with site.client(maintainer) as client:
        running = await client.post(path, json={"force": True})
        canceled = await client.post(path)
        async with site.client(developer) as other:
            forbidden = await other.post(path, params={"force": "true"})
        forced = await client.post(path, params={"force": "true"})
        again = await client.post(path, json={"force": True})
    assert (running.status_code, running.json()["status"]) == (201, "running")
    assert "only a job that is being canceled" in running.json()["notice"]
    assert canceled.json()["status"] == "canceling"
    assert forbidden.status_code == 403
    assert (forced.status_code, forced.json()["status"], "notice" in forced.json()) == (201, "canceled", False)
    assert (again.status_code, again.json()["status"]) == (201, "canceled")
    await site.world.put(job, "success", b"")
    assert (await site.world.row(job["id"])).status == "canceled"


async def test_a_log_is_the_same_before_and_after_it_is_moved(site: Site) -> None:
    await site.world.pipeline()
    log = b"".join(b"line %d \xc3\xa4 \x1b[31mred\x1b[0m\n" % number for number in range(700))
    job = await site.world.job()
    async with site.client(site.root) as client:
        path = address(site, f"/{job['id']}/trace")
        empty = await client.get(path)
        await site.world.patch(job, 0, log[:9_999])
        await site.world.patch(job, 9_999, log[9_999:])
        running = await client.get(path)
        await site.world.put(job, "success", log)
        ended = await client.get(path)
        assert await Archiver(site.services.database, site.services.store, site.services.notifications).move() == 1
        stored = await client.get(path)
    assert empty.content == b""
    assert running.content == ended.content == stored.content == log
    assert stored.headers["content-type"] == "text/plain; charset=utf-8"
    assert stored.headers["content-length"] == str(len(log))
    assert stored.headers["x-content-type-options"] == "nosniff"


async def test_a_log_that_is_moved_while_it_is_read_is_read_to_its_end(site: Site) -> None:
    from api.v4.jobs import log as job_log
    from api.v4.jobs.log_reads import PART

    await site.world.pipeline()
    log = b"x" * (2 * PART) + b"end"
    job = await site.world.job()
    for start in range(0, len(log), 100_000):
        await site.world.patch(job, start, log[start : start + 100_000])
    await site.world.put(job, "success", log)
    row = await site.world.row(job["id"])
    chunks = job_log.read_log(site.services, await job_log.log_of(site.services, row))
    first = await anext(chunks)
    await Archiver(site.services.database, site.services.store, site.services.notifications).move()
    assert first + b"".join([chunk async for chunk in chunks]) == log


async def test_ids_that_cannot_be_are_refused_politely(site: Site) -> None:
    async with site.client(site.root) as client:
        for job_id in ("0", "abc", "9" * 20, "-1"):
            assert (await client.get(address(site, f"/{job_id}"))).status_code in {400, 404}, job_id
