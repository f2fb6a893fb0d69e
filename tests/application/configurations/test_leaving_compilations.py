"""What somebody asks to know of a configuration ends when they go; what they ask to be done does not."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from application.configurations import pool_work
from application.configurations.compiler_pool import MARKS, within
from application.configurations.compiling import COMPILATIONS
from git import turns
from tests.api.v4.site import Site, open_site, serving
from tests.waiting import HANGS, eventually

T = TypeVar("T")
CONFIG = "job: {script: x}\n"


class SlowCompiler:
    """Computes nothing until it is told to, but looks whether anybody waits for it, as a process does."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.gate = threading.Event()

    def within(self, seconds: float, mark: int, work: Callable[[], T]) -> tuple[T, float]:
        self.begun.release()
        while not self.gate.wait(0.01):
            MARKS.check(mark)
        return within(seconds, mark, work)

    async def has_begun(self) -> None:
        """Wait until it has work."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=20)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A served installation."""
    async with open_site(tmp_path, "") as opened, serving(opened):
        await opened.commit({".gitlab-ci.yml": CONFIG})
        yield opened


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, site: Site) -> Iterator[SlowCompiler]:
    """The one of the installation."""
    slow = SlowCompiler()
    monkeypatch.setattr(pool_work, "within", slow.within)
    yield slow
    slow.gate.set()  # a test that fails leaves no thread behind


async def nobody_compiles() -> bool:
    """Whether every turn was given back."""
    ours = turns._TURNS[asyncio.get_running_loop()].get(COMPILATIONS)
    return ours is not None and not ours.running and not ours.waiting


async def leave(asking: asyncio.Task[httpx.Response]) -> None:
    """Close the connection of a call."""
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("GET", "/api/v4/projects/{project}/ci/lint", {}),
        ("POST", "/api/v4/projects/{project}/ci/lint", {}),
        ("POST", "/api/v4/projects/{project}/ci/lint", {"Idempotency-Key": "one"}),
    ],
    ids=["committed", "given", "given with a key"],
)
async def test_a_check_ends_with_its_caller(
    site: Site, compiler: SlowCompiler, method: str, path: str, more: dict[str, str]
) -> None:
    headers = {"PRIVATE-TOKEN": site.root.token, **more}
    call: dict[str, Any] = {"json": {"content": CONFIG}} if method == "POST" else {}
    address = path.format(project=site.world.project_id)
    async with httpx.AsyncClient(
        base_url=site.services.settings.url, headers=headers, trust_env=False, timeout=HANGS
    ) as client:
        asking = asyncio.create_task(client.request(method, address, **call))
        await compiler.has_begun()
        waiting = asyncio.create_task(client.request(method, address + "?n=2", **call))
        await leave(asking)
        await leave(waiting)
        await eventually(nobody_compiles, "what nobody waits for has ended", 20.0)
        compiler.gate.set()
        response = await client.request(method, address, **call)
        assert (response.status_code, response.json()["valid"]) == (200, True)


async def test_a_pipeline_that_somebody_asked_for_is_made_though_they_have_gone(
    site: Site, compiler: SlowCompiler
) -> None:
    project = f"/api/v4/projects/{site.world.project_id}"
    headers = {"PRIVATE-TOKEN": site.root.token}
    async with httpx.AsyncClient(
        base_url=site.services.settings.url, headers=headers, trust_env=False, timeout=HANGS
    ) as client:
        asking = asyncio.create_task(client.post(f"{project}/pipeline", json={"ref": "main"}))
        await compiler.has_begun()
        await leave(asking)
        compiler.gate.set()

        async def is_made() -> bool:
            return len((await client.get(f"{project}/pipelines")).json()) == 1

        await eventually(is_made, "the pipeline is there", 20.0)
