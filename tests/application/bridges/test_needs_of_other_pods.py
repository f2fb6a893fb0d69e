"""`needs: project` of a project in another pod: asked for outside of the claim, fetched by a token of that pod."""

import gzip
import io
import zipfile
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, update

from domain.pipelines.status import Status
from models.repositories.accounts import members
from models.repositories.pipelines import cross_pod_needs, outbox
from models.repositories.pipelines.job_rows import queue_entry
from tests.application.bridges.two_pods import TwoPods
from tests.models.world import job, outbox_table

pytestmark = pytest.mark.slow
"""Two pods for each test; a second and more of each."""

BUILD = {
    ".gitlab-ci.yml": (
        "build: {script: make, artifacts: {paths: [made], reports: {dotenv: a.env}}}\n"
        "bare: {script: make}\n"
        "empty: {script: make, artifacts: {paths: [made]}}\n"
    )
}


async def build(two: TwoPods) -> int:
    """The far project has a successful pipeline; the job whose archive there is."""
    await two.far.here.commit(two.target, BUILD)
    async with two.far.here.site.client(two.far.here.site.root) as client:
        await client.post(f"/api/v4/projects/{two.target}/pipeline", json={"ref": "main"})
    await two.far.here.carry_out()
    world, found = two.far.here.site.world, 0
    for _ in range(3):
        taken = await world.job()
        if taken["job_info"]["name"] == "build":
            found = taken["id"]
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr("made", "it")
            for content, kind, form in (
                (packed.getvalue(), "archive", "zip"),
                (gzip.compress(b"COLOUR=red\n"), "dotenv", "gzip"),
            ):
                response = await world.upload(taken, content, artifact_type=kind, artifact_format=form)
                assert response.status_code == 201, response.text
        await two.far.here.world.end(taken["id"])
    await two.far.here.carry_out()
    return int(found)


async def begin(two: TwoPods, name: str = "build", ref: str = "main") -> int:
    """A near pipeline whose job needs the artifacts of a far one; another job stands behind it in the queue."""
    need = f"{{project: {await two.target_path()}, ref: {ref}, job: {name}, artifacts: true}}"
    config = f"use: {{script: make, needs: [{need}]}}\nother: {{script: make}}\n"
    return await two.near.here.begin({".gitlab-ci.yml": config}, user_id=two.ada)


async def polled(two: TwoPods) -> list[str]:
    """Names of the jobs that the runner of the near pod gets now."""
    return [job["job_info"]["name"] for job in await taken(two)]


async def taken(two: TwoPods) -> list[dict[str, Any]]:
    found = []
    while (response := await two.near.here.site.world.request()).status_code == 201:
        found.append(response.json())
    return found


def named(jobs: Iterable[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(job for job in jobs if job["job_info"]["name"] == name)


async def test_a_job_gets_the_archive_and_the_variables_of_another_pods_job(two: TwoPods) -> None:
    made = await build(two)
    await begin(two)
    assert await polled(two) == ["other"], "the one that waits for the other pod is in nobody's way"
    assert two.line.seen == [], "a claim asks nobody"
    await two.carry_out()
    use = named(await taken(two), "use")
    (dependency,) = use["dependencies"]
    assert (dependency["id"], dependency["name"]) == (made, "build")
    assert {"key": "COLOUR", "value": "red"}.items() <= next(
        v for v in use["variables"] if v["key"] == "COLOUR"
    ).items()
    assert await two.owed() == []
    await fetched(two, dependency, made)


async def fetched(two: TwoPods, dependency: dict[str, Any], made: int) -> None:
    """The token opens this archive, at the pod that has it, and nothing else."""
    path, headers = f"/api/v4/jobs/{made}/artifacts", {"JOB-TOKEN": dependency["token"]}
    async with two.far.here.site.client() as client:
        response = await client.get(path, headers=headers)
        assert response.status_code == 200
        assert zipfile.ZipFile(io.BytesIO(response.content)).read("made") == b"it"
        for method, other in (
            ("GET", f"/api/v4/jobs/{made + 1}/artifacts"),
            ("POST", path),
            ("PATCH", f"/api/v4/jobs/{made}/trace"),
            ("PUT", f"/api/v4/jobs/{made}"),
            ("GET", "/api/v4/job"),
            ("GET", f"/api/v4/projects/{two.target}"),
        ):
            refused = await client.request(method, other, headers={**headers, "Content-Range": "0-1"})
            assert refused.status_code in {401, 403, 404}, (method, other, refused.status_code)
    async with two.near.here.site.client() as client:
        assert (await client.get(path, headers=headers)).status_code == 403


async def test_tokens_of_archives_end_and_are_sealed_while_they_are_stored(two: TwoPods) -> None:
    made = await build(two)
    await begin(two)
    await polled(two)
    await two.carry_out()
    (row,) = await two.near.here.world.rows(cross_pod_needs.need)
    assert "glcbt" not in f"{row.answer} {row.sealed_token}"
    tokens, now = two.far.here.site.services.job_tokens, two.far.here.world.now()
    late = tokens.issue_for_archive(made, timedelta(seconds=1), now - timedelta(minutes=5))
    assert tokens.archive_of(late) is None
    assert tokens.archive_of(tokens.issue_for_archive(made, timedelta(seconds=60), now)) == made
    assert tokens.archive_of("") is tokens.archive_of("glcbt-x.y.z") is None


@pytest.mark.parametrize(
    ("name", "ref", "becomes", "text"),
    [
        ("bare", "main", "running", ""),
        ("missing", "main", "failed", "was not found"),
        ("build", "nowhere", "failed", "was not found"),
        ("empty", "main", "failed", "has no artifacts"),
    ],
)
async def test_what_there_is_not(two: TwoPods, name: str, ref: str, becomes: str, text: str) -> None:
    await build(two)
    pipeline_id = await begin(two, name, ref)
    await polled(two)
    await two.carry_out()
    await polled(two)
    use = await two.near.here.named(pipeline_id, "use")
    assert (use.status, use.failure_reason) == (becomes, "missing_dependency_failure" if text else "")
    async with two.near.here.site.client(two.near.here.site.root) as client:
        log = await client.get(f"/api/v4/projects/{two.near.here.world.project_id}/jobs/{use.id}/trace")
    assert text in log.text


async def test_who_may_not_read_the_project_is_told_that_it_is_not_there(two: TwoPods) -> None:
    await build(two)
    async with two.far.here.world.database.write() as connection:
        await connection.execute(delete(members.member).where(members.member.c.user_id == two.visitor))
    pipeline_id = await begin(two)
    await polled(two)
    await two.carry_out()
    await polled(two)
    assert (await two.near.here.named(pipeline_id, "use")).failure_reason == "missing_dependency_failure"


async def test_a_pod_that_is_away_keeps_those_waiting_that_need_it_and_nobody_else(two: TwoPods) -> None:
    await build(two)
    pipeline_id = await begin(two)
    two.line.lose_requests = 1
    assert await polled(two) == ["other"]
    await two.near.loop.carry_out_due()
    assert await polled(two) == []
    use = await two.near.here.named(pipeline_id, "use")
    (row,) = await two.near.here.world.rows(outbox_table, kind=outbox.NEEDS_ELSEWHERE)
    assert (use.status, row.job_id, row.attempts, row.payload) == ("pending", use.id, 1, {})
    await two.again()
    assert await polled(two) == ["use"]


async def test_a_job_that_is_canceled_meanwhile_stays_out_of_the_queue(two: TwoPods) -> None:
    await build(two)
    pipeline_id = await begin(two)
    await polled(two)
    await two.near.here.ask(pipeline_id, "cancel_pipeline")
    await two.carry_out()
    assert (await two.near.here.named(pipeline_id, "use")).status == "canceled"
    assert (await two.owed(), await two.near.here.world.rows(queue_entry)) == ([], [])


async def test_an_answer_that_is_old_is_asked_for_again(two: TwoPods) -> None:
    await build(two)
    await begin(two)
    await polled(two)
    await two.carry_out()
    async with two.near.here.world.database.write() as connection:
        earlier = two.near.here.world.now() - timedelta(hours=13)
        await connection.execute(update(cross_pod_needs.need).values(answered_at=earlier))
    assert await polled(two) == []
    await two.carry_out()
    assert await polled(two) == ["use"]
    assert len(two.line.seen) == 2


async def test_a_process_that_dies_between_leaves_the_job_waiting(
    two: TwoPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    await build(two)
    pipeline_id = await begin(two)
    await polled(two)

    class Killed(BaseException):
        """The process is gone."""

    async def dying(*_: Any) -> bool:
        raise Killed

    with monkeypatch.context() as fault:
        fault.setattr(cross_pod_needs, "return_to_queue", dying)
        with pytest.raises(Killed):
            await two.near.loop.carry_out_due()
    assert await polled(two) == []
    await two.again()
    assert await polled(two) == ["use"]
    assert (await two.near.here.world.row(job, id=(await two.near.here.named(pipeline_id, "use")).id)).status == (
        Status.RUNNING
    )
