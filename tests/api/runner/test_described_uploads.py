"""Uploads whose type, format and expiry stand in the body, behind the file, as two foreign runners send them."""

import gzip
from typing import Any

import httpx
from sqlalchemy import select

from models.repositories.artifacts.artifacts import artifact
from tests.api.runner.world import World

REPORTS = "one: {script: a, artifacts: {paths: [out], reports: {junit: r.xml, dotenv: v.env}}}\n"
REPORT = gzip.compress(b"<testsuite/>")


async def upload(
    world: World, job: dict[str, Any], content: bytes, query: dict[str, str] | None = None, **fields: str
) -> httpx.Response:
    """Send the file first, then the fields."""
    parts: list[tuple[str, Any]] = [("file", ("r.gz", content, "application/octet-stream"))]
    parts += [(name, (None, value)) for name, value in fields.items()]
    path = f"/api/v4/jobs/{job['id']}/artifacts"
    headers = {"JOB-TOKEN": job["token"]}
    return await world.client.post(path, files=parts, headers=headers, params=query or {})


async def kept(world: World) -> list[Any]:
    async with world.services.database.read() as connection:
        return list((await connection.execute(select(artifact).order_by(artifact.c.id))).all())


async def test_what_stands_behind_a_file_describes_it(world: World) -> None:
    await world.pipeline(REPORTS)
    job = await world.job()
    response = await upload(
        world, job, REPORT, artifact_type="junit", artifact_format="gzip", expire_in="1 day", surprise="x" * 10_000
    )
    assert (response.status_code, response.json()["file_type"]) == (201, "junit")
    (row,) = await kept(world)
    assert (row.file_type, row.file_format, row.size) == ("junit", "gzip", len(REPORT))
    assert row.expire_at is not None


async def test_the_query_wins_over_the_body(world: World) -> None:
    await world.pipeline(REPORTS)
    job = await world.job()
    said = {"artifact_type": "junit", "artifact_format": "gzip"}
    response = await upload(world, job, REPORT, said, artifact_type="archive", artifact_format="zip")
    assert (response.status_code, response.json()["file_type"]) == (201, "junit")


async def test_an_unknown_type_behind_a_file_leaves_nothing(world: World) -> None:
    await world.pipeline(REPORTS)
    response = await upload(world, await world.job(), REPORT, artifact_type="odd")
    assert (response.status_code, await kept(world)) == (400, [])


async def test_the_limit_of_a_type_holds_although_it_is_told_late(world: World) -> None:
    await world.pipeline(REPORTS)
    large = gzip.compress(bytes(70_000), compresslevel=0)
    response = await upload(world, await world.job(), large, artifact_type="dotenv", artifact_format="gzip")
    assert (response.status_code, await kept(world)) == (413, [])
