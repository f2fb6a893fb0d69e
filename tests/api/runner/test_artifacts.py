"""`/jobs/:id/artifacts`: how files go from one job to another."""

import io
import zipfile
from base64 import b64encode
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.responses import StreamingResponse

from api.stored_file import stored_file
from domain.errors import Unavailable
from models.repositories.artifacts.artifacts import artifact, pipeline
from models.rows.artifacts import ArtifactRow
from storage.objects import CHUNK
from tests.api.runner.world import World
from tests.made_rows import made


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
    response = await world.client.get(f"/api/v4/jobs/{dependency['id']}/artifacts", headers=headers)
    assert (response.status_code, response.content) == (200, content)


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
    for job_id in (build["id"], 999_999):
        assert (await world.client.get(f"/api/v4/jobs/{job_id}/artifacts", headers=headers)).status_code == 403


async def test_an_archive_is_read_in_ranges(world: World) -> None:
    """As runners do that load several parts at once: they ask for the first byte to learn of the size."""
    pipeline_id = await world.pipeline()
    build = await world.job()
    content = archive(out="42" * 50)
    await world.upload(build, content)
    await world.put(build, "success", b"")
    await world.settle(pipeline_id)
    check = await world.job()
    address, size = f"/api/v4/jobs/{build['id']}/artifacts", len(content)
    digest = f"sha-256=:{b64encode(sha256(content).digest()).decode()}:"
    for asked, said, part in (
        ("bytes=0-0", f"bytes 0-0/{size}", content[:1]),
        ("bytes=5-", f"bytes 5-{size - 1}/{size}", content[5:]),
        ("bytes=-7", f"bytes {size - 7}-{size - 1}/{size}", content[-7:]),
        ("bytes=3-999999", f"bytes 3-{size - 1}/{size}", content[3:]),
    ):
        response = await world.client.get(address, headers={"JOB-TOKEN": check["token"], "Range": asked})
        assert (response.status_code, response.headers["content-range"], response.content) == (206, said, part), asked
        assert response.headers["repr-digest"] == digest, "it is that of the whole file"
    beyond = await world.client.get(address, headers={"JOB-TOKEN": check["token"], "Range": f"bytes={size}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")
    several = await world.client.get(address, headers={"JOB-TOKEN": check["token"], "Range": "bytes=0-1,3-4"})
    assert (several.status_code, several.content, several.headers["repr-digest"]) == (200, content, digest)


async def test_an_expired_archive_is_not_found_once_the_ref_has_a_newer_success(world: World) -> None:
    check, build = await ready_to_download(world)
    async with world.services.database.write() as connection:
        past = world.services.clock() - timedelta(days=1)
        await connection.execute(update(artifact).values(expire_at=past))
    address, headers = f"/api/v4/jobs/{build['id']}/artifacts", {"JOB-TOKEN": check["token"]}
    assert (await world.client.get(address, headers=headers)).status_code == 200
    await world.pipeline()
    async with world.services.database.write() as connection:
        newest = select(func.max(pipeline.c.id)).scalar_subquery()
        await connection.execute(update(pipeline).where(pipeline.c.id == newest).values(status="success"))
    assert (await world.client.get(address, headers=headers)).status_code == 404


async def ready_to_download(world: World, content: bytes = b"") -> tuple[dict[str, Any], dict[str, Any]]:
    """A job that may download the archive of another one; both as their runners see them."""
    pipeline_id = await world.pipeline()
    build = await world.job()
    assert (await world.upload(build, content or archive(out="42"))).status_code == 201
    await world.put(build, "success", b"")
    await world.settle(pipeline_id)
    return await world.job(), build


@pytest.mark.parametrize("size", [1_000, 90_000])
async def test_a_file_that_has_rotted_in_the_store_is_an_error(world: World, size: int) -> None:
    check, build = await ready_to_download(world, b"x" * size)
    (file,) = (world.services.settings.home / "objects" / "projects").rglob("archive-*")
    file.write_bytes(b"y" * size)
    headers = {"JOB-TOKEN": check["token"]}
    response = await world.client.get(f"/api/v4/jobs/{build['id']}/artifacts", headers=headers)
    assert response.status_code == 503


async def test_a_file_that_is_missing_in_the_store_is_an_error(world: World) -> None:
    check, build = await ready_to_download(world)
    (file,) = (world.services.settings.home / "objects" / "projects").rglob("archive-*")
    file.unlink()
    headers = {"JOB-TOKEN": check["token"]}
    response = await world.client.get(f"/api/v4/jobs/{build['id']}/artifacts", headers=headers)
    assert response.status_code == 404


async def test_a_large_file_that_has_rotted_never_comes_to_its_end(world: World) -> None:
    """The status is sent by then, so the connection breaks before the last bytes."""
    size = 3 * CHUNK
    key = "projects/1/jobs/1/archive-rotten"
    stored = await world.services.store.put(key, b"x" * size)
    (world.services.settings.home / "objects" / key).write_bytes(b"x" * (size - 1) + b"y")
    row = made(ArtifactRow, object_key=key, size=size, sha256=stored.sha256, filename="a.zip")
    response = await stored_file(world.services.store, row, "application/zip")
    assert isinstance(response, StreamingResponse)
    got = bytearray()

    async def read() -> None:
        async for part in response.body_iterator:
            assert isinstance(part, bytes)
            got.extend(part)

    with pytest.raises(Unavailable, match="damaged"):
        await read()
    assert 0 < len(got) < size
    assert response.headers["content-length"] == str(size)
