"""Runners that are sent to the object store for their downloads, where it is S3 and the settings permit it."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from settings import Settings
from tests.api.runner.test_artifacts import archive, ready_to_download
from tests.api.runner.world import World, opened_world
from tests.storage.test_objects import BUCKET, bucket, s3_address  # noqa: F401  # fixtures
from tests.waiting import HANGS

DIRECT = {"direct_download": "true"}


@pytest.fixture(params=[True, False], ids=["permitted", "not permitted"])
async def world(tmp_path: Path, bucket: object, request: pytest.FixtureRequest) -> AsyncIterator[World]:  # noqa: F811
    """A world whose objects lie on S3."""
    settings = Settings(home=tmp_path, object_store=f"s3://{BUCKET}/pod", direct_download=request.param)
    async with opened_world(settings) as world:
        yield world


async def test_a_runner_that_asks_for_it_is_sent_to_the_store(world: World) -> None:
    content = archive(out="42")
    check, build = await ready_to_download(world, content)
    address, headers = f"/api/v4/jobs/{build['id']}/artifacts", {"JOB-TOKEN": check["token"]}
    plain = await world.client.get(address, headers=headers)
    assert (plain.status_code, plain.content) == (200, content)
    response = await world.client.get(address, headers=headers, params=DIRECT)
    if not world.services.settings.direct_download:
        assert (response.status_code, response.content) == (200, content)
        return
    assert response.status_code == 302
    async with httpx.AsyncClient(timeout=HANGS) as store:
        there = await store.get(response.headers["location"], headers={**headers, "Range": "bytes=0-0"})
    assert (there.status_code, there.content) == (206, content[:1])
