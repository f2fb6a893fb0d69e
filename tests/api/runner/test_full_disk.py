"""A disk that is full: nothing of what was refused is acknowledged, and everything goes on once there is room."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from settings import Settings
from tests.api.runner.test_artifacts import archive
from tests.api.runner.world import World, opened_world
from tests.small_disk import small_disk


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A world whose object store has room for 128 KiB."""
    with small_disk(tmp_path / "objects", "128k") as store:
        async with opened_world(Settings(home=tmp_path, object_store=store.as_uri())) as world:
            yield world


async def test_an_upload_is_refused_with_503_and_taken_when_there_is_room(world: World, tmp_path: Path) -> None:
    await world.pipeline("one: {script: a, artifacts: {paths: [o]}}\n")
    job = await world.job()
    filler = tmp_path / "objects" / "filler"
    filler.write_bytes(b"x" * 100_000)
    content = archive(out="y" * 60_000)
    response = await world.upload(job, content)
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) > 0
    assert "room" in response.json()["message"]
    assert (await world.row(job["id"])).status == "running"
    filler.unlink()
    assert (await world.upload(job, content)).status_code == 201
