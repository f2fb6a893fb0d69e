"""`/jobs/:id/artifacts`."""

import gzip
import io
import zipfile

from sqlalchemy import select

from models.repositories.artifacts import artifact, test_report
from tests.api.runner.world import World


def archive(**files: str) -> bytes:
    """A zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return buffer.getvalue()


async def test_an_archive_goes_from_one_job_to_the_next(world: World) -> None:
    pipeline_id = await world.pipeline()
    build = await world.job()
    content = archive(out="42")
    assert (await world.upload(build, content, artifact_type="archive", artifact_format="zip")).status_code == 201
    await world.put(build, "success", b"")
    await world.settle(pipeline_id)
    check = await world.job()
    (dependency,) = check["dependencies"]
    assert (dependency["id"], dependency["artifacts_file"]["size"]) == (build["id"], len(content))
    headers = {"JOB-TOKEN": dependency["token"]}
    answer = await world.client.get(f"/api/v4/jobs/{dependency['id']}/artifacts", headers=headers)
    assert (answer.status_code, answer.content) == (200, content)


async def test_an_archive_is_for_jobs_that_depend_on_it(world: World) -> None:
    config = (
        "build: {stage: build, script: a, artifacts: {paths: [o]}}\nalone: {stage: test, script: b, dependencies: []}\n"
    )
    pipeline_id = await world.pipeline(config)
    build = await world.job()
    await world.upload(build, archive(out="42"))
    await world.put(build, "success", b"")
    await world.settle(pipeline_id)
    alone = await world.job()
    assert alone["dependencies"] == []
    headers = {"JOB-TOKEN": alone["token"]}
    assert (await world.client.get(f"/api/v4/jobs/{build['id']}/artifacts", headers=headers)).status_code == 403
    assert (await world.client.get("/api/v4/jobs/999999/artifacts", headers=headers)).status_code == 404


async def test_a_file_that_is_too_large_leaves_nothing_and_names_the_setting(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    answer = await world.upload(job, b"x" * 100_001)
    assert answer.status_code == 413
    assert "PERDURE_ARTIFACT_BYTES" in answer.json()["message"]
    async with world.services.database.read() as connection:
        assert (await connection.execute(select(artifact))).all() == []


async def test_a_repeated_upload_replaces_the_first(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    first, second = archive(out="one"), archive(out="two")
    for packed in (first, second):
        assert (await world.upload(job, packed)).status_code == 201
    async with world.services.database.read() as connection:
        (row,) = (await connection.execute(select(artifact))).all()
    content = b"".join([part async for part in world.services.store.read(row.object_key)])
    assert content == second


async def test_a_junit_report_is_kept_in_its_table(world: World) -> None:
    pipeline_id = await world.pipeline()
    job = await world.job()
    cases = b'<testcase name="a" time="0.5"/><testcase name="b"><failure>no</failure></testcase>'
    xml = b'<testsuite name="s">' + cases + b"</testsuite>"
    answer = await world.upload(job, gzip.compress(xml), artifact_type="junit", artifact_format="gzip")
    assert answer.status_code == 201
    async with world.services.database.read() as connection:
        row = (await connection.execute(select(test_report))).one()
    assert (row.pipeline_id, row.total, row.failed, row.error) == (pipeline_id, 2, 1, "")
    assert [case["name"] for case in row.cases] == ["a", "b"]


async def test_a_broken_report_is_kept_with_its_fault_and_fails_nothing(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    answer = await world.upload(job, gzip.compress(b"<testsuite>"), artifact_type="junit", artifact_format="gzip")
    assert answer.status_code == 201
    async with world.services.database.read() as connection:
        row = (await connection.execute(select(test_report))).one()
    assert row.total == 0
    assert row.error


async def test_a_body_without_a_file_is_a_clear_error(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    headers = {"JOB-TOKEN": job["token"]}
    for content in (b"", b"PK"):
        answer = await world.client.post(f"/api/v4/jobs/{job['id']}/artifacts", content=content, headers=headers)
        assert answer.status_code == 400
        assert "named file" in answer.json()["message"]
    other = await world.client.post(f"/api/v4/jobs/{job['id']}/artifacts", files={"other": b"x"}, headers=headers)
    assert other.status_code == 400
