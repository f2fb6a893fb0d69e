"""The compiler is shared: one caller has one of its processes, and each configuration so much computing."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from api.services import Services
from application.configurations import compiling
from application.configurations.compiling import Compilation
from application.configurations.config_sources import ConfigSources
from domain.config.compile import DEFAULT_CONTEXT
from domain.config.reading import source
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Items
from domain.config.reading.yaml_text import parse
from domain.config.sources import Answer, Fetched, LocalFile, Request
from tests.api.v4.site import Site, open_site


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    async with open_site(tmp_path, sqlite_url) as opened:
        yield opened


class KnownFiles(ConfigSources):
    """Files of the project by path; whose share of the compiler they take says `key`."""

    def __init__(self, key: str, files: Mapping[str, str]) -> None:
        self.key = key
        self._files = files

    async def answer_all(self, requests: Iterable[Request]) -> dict[Request, Answer]:
        return {one: Fetched(self._files[one.path]) for one in requests if isinstance(one, LocalFile)}


def compilation(services: Services, key: str) -> Compilation:
    """One of which only whose it is matters."""
    return Compilation(services, "", DEFAULT_CONTEXT, KnownFiles(key, {}), "f")


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


async def test_each_file_of_a_chain_is_parsed_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"f{n}.yml": f"include: f{n + 1}.yml\n.j{n}: {{script: x}}\n" for n in range(60)}
    files["f60.yml"] = "job: {script: x}\n"
    text = "include: f0.yml\n"
    parsed: list[int] = []

    def counted(text: str, issues: Issues, file: str) -> Items:
        parsed.append(len(text))
        return parse(text, issues, file)

    monkeypatch.setattr(source, "parse", counted)

    plan = await Compilation(site.services, text, DEFAULT_CONTEXT, KnownFiles("user 1", files), "f").plan()
    assert ([job.name for job in plan.jobs], len(plan.includes)) == (["job"], 61)
    assert sum(parsed) <= len(text) + sum(map(len, files.values()))


async def test_what_is_handed_to_the_processes_again_and_again_has_an_end(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "HANDED_OVER", 200)
    await site.commit({".gitlab-ci.yml": "include: a.yml\n", "a.yml": f"one: {{script: {'x' * 300}}}\n"})
    async with site.client(site.root) as client:
        response = (await client.get(f"/api/v4/projects/{site.world.project_id}/ci/lint")).json()
    assert (response["valid"], "too large" in response["errors"][0]) == (False, True)


async def test_a_configuration_that_takes_too_much_computing_is_invalid(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "COMPUTING", 0.0)
    await site.commit({".gitlab-ci.yml": "one: {script: x}\n"})
    async with site.client(site.root) as client:
        response = (await client.get(f"/api/v4/projects/{site.world.project_id}/ci/lint")).json()
    assert response["valid"] is False
    assert "have fewer or smaller includes" in response["errors"][0]
