"""The compiler is shared: one caller has one of its processes, and each configuration so much computing."""

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from api import compiling
from api.compiling import Compilation
from api.config_sources import ConfigSources
from api.services import Services
from domain.config.compile import DEFAULT_CONTEXT
from tests.api.v4.site import Site, open_site


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    async with open_site(tmp_path, sqlite_url) as opened:
        yield opened


def compilation(services: Services, key: str) -> Compilation:
    """One of which only whose it is matters."""
    return Compilation(services, "", DEFAULT_CONTEXT, cast(ConfigSources, SimpleNamespace(key=key)), "f")


async def test_nobody_waits_for_more_than_one_compilation_of_another(site: Site) -> None:
    gate, begun = threading.Event(), threading.Semaphore(0)

    def slow() -> str:
        begun.release()
        gate.wait(60)
        return "slow"

    with ThreadPoolExecutor(2) as two:
        services = replace(site.services, compilers=two)
        slow_ones = [asyncio.create_task(compilation(services, "user 1").compute(slow)) for _ in range(5)]
        try:
            async with asyncio.timeout(60):
                await asyncio.to_thread(begun.acquire)
                assert await compilation(services, "user 2").compute(lambda: "quick") == "quick"
            assert not begun.acquire(blocking=False), "only one of theirs runs"
        finally:
            gate.set()
        assert await asyncio.gather(*slow_ones) == ["slow"] * 5


async def test_a_configuration_that_takes_too_much_computing_is_invalid(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "COMPUTING", 0.0)
    await site.commit({".gitlab-ci.yml": "one: {script: x}\n"})
    async with site.client(site.root) as client:
        answer = (await client.get(f"/api/v4/projects/{site.world.project_id}/ci/lint")).json()
    assert answer["valid"] is False
    assert "have fewer or smaller includes" in answer["errors"][0]
