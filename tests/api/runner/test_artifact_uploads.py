"""Uploads: what is taken, what is refused, and what a broken one leaves behind: nothing."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select, update

from api.runner.artifact_types import FORMATS, LIMITS
from domain.errors import Unavailable
from domain.pipelines.status import Status
from loops.artifacts import ArtifactLoop
from models.repositories.artifacts import unused_objects
from models.repositories.artifacts.artifacts import artifact, project
from models.repositories.artifacts.unused_objects import unused
from models.repositories.pipelines import verdicts
from storage.objects import ObjectStore
from tests.api.runner.test_artifacts import archive
from tests.api.runner.world import World

ACCESS = "build: {script: a, artifacts: {paths: [o], access: developer, expire_in: 2 hours}}\n"


async def rows(world: World) -> Any:
    """All artifacts."""
    async with world.services.database.read() as connection:
        return (await connection.execute(select(artifact).order_by(artifact.c.id))).all()


def files(world: World) -> list[str]:
    """Names of the types of all files that lie in the store, unfinished ones too."""
    root = world.services.settings.home / "objects"
    return sorted(file.name.partition("-")[0] for file in root.rglob("*") if file.is_file())


async def clear(world: World) -> None:
    """Delete what nobody needs."""
    await ArtifactLoop(world.services.database, world.services.store, 1).delete_unused()


async def test_every_type_in_its_format_is_taken(world: World) -> None:
    await world.pipeline("build: {run: [{name: one, script: make}]}\n")
    job = await world.job()
    for kind, formats in FORMATS.items():
        content = gzip.compress(b"A=b") if kind == "dotenv" else b"PK"
        response = await world.upload(job, content, artifact_type=kind, artifact_format=min(formats))
        assert response.status_code == 201, f"{kind}: {response.text}"
    assert {row.file_type: row.file_format for row in await rows(world)} == {
        kind: min(formats) for kind, formats in FORMATS.items()
    }


@pytest.mark.parametrize(
    ("kind", "file_format"),
    [("archive", "gzip"), ("junit", "zip"), ("sast", "gzip"), ("archive", "rar"), ("trace", "raw"), ("../x", "zip")],
)
async def test_types_and_formats_that_do_not_go_together_are_refused(world: World, kind: str, file_format: str) -> None:
    await world.pipeline()
    job = await world.job()
    response = await world.upload(job, b"PK", artifact_type=kind, artifact_format=file_format)
    assert response.status_code == 400
    assert "artifact_type" in response.json()["message"] or "Invalid file format" in response.json()["message"]
    assert await rows(world) == []
    assert files(world) == []


async def test_the_same_file_again_is_a_success_and_another_one_is_refused(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    first, second = archive(out="one"), archive(out="two")
    assert [(await world.upload(job, content)).status_code for content in (first, first, second)] == [201, 201, 400]
    (row,) = await rows(world)
    await clear(world)
    assert files(world) == ["archive"]
    assert b"".join([part async for part in world.services.store.read(row.object_key)]) == first


async def test_two_files_of_a_type_at_once_are_one(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    contents = [archive(out=str(number)) for number in range(4)]
    responses = await asyncio.gather(*(world.upload(job, content) for content in contents))
    assert sorted(response.status_code for response in responses) == [201, 400, 400, 400]
    (row,) = await rows(world)
    await clear(world)
    assert files(world) == ["archive"]
    kept = b"".join([part async for part in world.services.store.read(row.object_key)])
    assert kept == contents[[response.status_code for response in responses].index(201)]


@pytest.mark.parametrize("wrong_limit", ["installation", "project", "type", "announced"])
async def test_a_file_that_is_too_large_leaves_nothing_and_names_the_limit(world: World, wrong_limit: str) -> None:
    await world.pipeline()
    job = await world.job()
    query, size, name = {}, 100_001, "100,000 bytes (97.66 KiB) are taken. The limit is PERDURE_ARTIFACT_BYTES of this"
    if wrong_limit == "project":
        async with world.services.database.write() as connection:
            await connection.execute(update(project).values(max_artifacts_size=1))
        size, name = 1024 * 1024 + 1, "(1 MiB) are taken. The limit is max_artifacts_size of this project"
    if wrong_limit == "type":
        query = {"artifact_type": "dotenv", "artifact_format": "gzip"}
        size, name = LIMITS["dotenv"] + 1, "the dotenv report is too large: at most 65,536 bytes (64 KiB)"
    if wrong_limit == "announced":
        size = 200_000
        name = "the archive of artifacts has 19"
    response = await world.upload(job, b"x" * size, **query)
    assert response.status_code == 413
    assert name in response.json()["message"]
    await clear(world)
    assert await rows(world) == []
    assert files(world) == []


async def test_expiry_and_access_come_from_the_call_else_from_the_job_else_from_the_settings(world: World) -> None:
    await world.pipeline(ACCESS)
    job = await world.job()
    await world.upload(job, archive(out="x"))
    await world.upload(job, b"{}", artifact_type="sast", artifact_format="raw", expire_in="never")
    await world.pipeline("plain: {script: a}\n")
    plain = await world.job()
    await world.upload(plain, archive(out="x"))
    kept = [
        (row.access, row.expire_at and (row.expire_at - row.created_at).total_seconds()) for row in await rows(world)
    ]
    assert kept == [("developer", 7200), ("developer", None), ("all", 30 * 86400)]


async def test_a_body_without_a_file_is_a_clear_error(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    address, headers = f"/api/v4/jobs/{job['id']}/artifacts", {"JOB-TOKEN": job["token"]}
    for content in (b"", b"PK"):
        response = await world.client.post(address, content=content, headers=headers)
        assert response.status_code == 400
        assert "named file" in response.json()["message"]
    other = await world.client.post(address, files={"other": b"x"}, headers=headers)
    assert other.status_code == 400


async def sized(size: int) -> AsyncIterator[bytes]:
    """The content of a file."""
    yield b"x" * size


async def multipart(pieces: AsyncIterator[bytes], *, name: str = "a.zip", end: bool = True) -> AsyncIterator[bytes]:
    """The body of an upload; without an end it is cut off."""
    yield f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    async for piece in pieces:
        yield piece
    if end:
        yield b"\r\n--b--\r\n"


async def send(world: World, job: dict[str, Any], body: AsyncIterator[bytes]) -> Any:
    """Upload a body of one's own."""
    headers = {"JOB-TOKEN": job["token"], "Content-Type": "multipart/form-data; boundary=b"}
    return await world.client.post(f"/api/v4/jobs/{job['id']}/artifacts", content=body, headers=headers)


async def test_a_body_that_is_cut_leaves_nothing(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    response = await send(world, job, multipart(sized(50_000), end=False))
    assert response.status_code == 400
    assert "ended before" in response.json()["message"]
    assert files(world) == []
    assert await rows(world) == []
    assert (await send(world, job, multipart(sized(50_000)))).status_code == 201


@pytest.mark.parametrize("name", ["a\0b.zip", "x" * 5_000, "../../etc/passwd", "\x1b[2J.zip"])
async def test_a_strange_file_name_is_made_plain(world: World, name: str) -> None:
    await world.pipeline()
    job = await world.job()

    assert (await send(world, job, multipart(sized(10), name=name))).status_code in {201, 400}
    for row in await rows(world):
        assert row.filename.isprintable()
        assert "/" not in row.filename
        assert len(row.filename) <= 255


async def test_a_job_that_ends_during_the_upload_has_handed_in_nothing(world: World) -> None:
    await world.pipeline()
    job = await world.job()

    async def ends() -> AsyncIterator[bytes]:
        yield b"x" * 50_000
        async with world.services.database.write() as connection:
            await verdicts.end_jobs(connection, [job["id"]], Status.FAILED, world.services.clock())
        yield b"y"

    response = await send(world, job, multipart(ends()))
    assert (response.status_code, response.headers.get("job-status")) == (403, "failed"), response.text
    await clear(world)
    assert await rows(world) == []
    assert files(world) == []


async def test_an_ended_job_hands_in_nothing(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    await world.put(job, "success", b"")
    response = await world.upload(job, archive(out="x"))
    assert (response.status_code, response.headers["job-status"]) == (403, "success")


async def test_a_store_that_is_away_is_503_and_the_job_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise Unavailable("The store is away, on purpose.")

    await world.pipeline()
    job = await world.job()
    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "put", away)
        response = await world.upload(job, archive(out="x"))
        assert response.status_code == 503
        assert int(response.headers["retry-after"]) > 0
    assert await rows(world) == []
    assert (await world.upload(job, archive(out="x"))).status_code == 201


async def test_killed_between_object_and_row_the_object_is_found_after_a_day(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed process leaves: the object, and its key in the database."""
    key = "projects/1/jobs/1/archive-left"
    async with world.services.database.write() as connection:
        await unused_objects.announce(connection, key)
    await world.services.store.put(key, b"left")
    await clear(world)
    assert files(world) == ["archive"]
    async with world.services.database.write() as connection:
        begun = unused.c.created_at
        row = (await connection.execute(select(begun))).scalar_one()
        await connection.execute(update(unused).values(created_at=row - unused_objects.MAX_UPLOAD))
    await clear(world)
    assert files(world) == []
    async with world.services.database.write() as connection:
        assert not await unused_objects.take_up(connection, key)


async def test_a_front_that_stores_files_itself_may_ask_before(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    address = f"/api/v4/jobs/{job['id']}/artifacts/authorize"
    headers = {"JOB-TOKEN": job["token"]}
    response = await world.client.post(address, headers=headers)
    assert (response.status_code, response.json()) == (200, {"MaximumSize": 100_000})
    large = await world.client.post(address, headers=headers, params={"filesize": 100_001})
    assert large.status_code == 413
    assert (await world.client.post(address)).status_code == 403
