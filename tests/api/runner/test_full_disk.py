"""A disk that is full: nothing of what was refused is acknowledged, and everything goes on once there is room."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from settings import Settings
from tests.api.runner.test_artifacts import archive
from tests.api.runner.world import World, opened_world


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for 128 KiB."""
    store = tmp_path / "objects"
    store.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(store)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("not run: no right to mount a small disk")
    yield store
    subprocess.run(["umount", str(store)], check=True)


@pytest.fixture
async def world(tmp_path: Path, small_disk: Path) -> AsyncIterator[World]:
    """A world whose object store is there."""
    async with opened_world(Settings(home=tmp_path, object_store=small_disk.as_uri())) as world:
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
