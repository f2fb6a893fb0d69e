"""Imports that are killed, and answers that are lost: run again, everything is there once."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.amounts import amount
from tests.api.v4.site import Site, open_site, serving
from tests.cli.importing.furnished import good
from tests.cli.importing.test_from_perdure import alike, schedules_of
from tests.cli.remote.shell import Shell, command

pytestmark = pytest.mark.slow

EVERYWHERE = 40
"""More writes than an import has."""
SOMEWHERE = (
    (1, True),
    (3, False),
    (4, True),
    (5, True),
    (7, True),
    (11, False),
    (16, True),
    (18, True),
    (21, True),
    (23, False),
)
"""Which write, counted from 1, and whether it was done when the importer dies."""


@dataclass
class Door:
    """Stands before the target: kills the importer at a write, or loses the responses of writes over the API."""

    app: ASGIApp
    importer: asyncio.subprocess.Process | None = None
    at: int = 0
    done: bool = False
    loses: bool = False
    writes: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a call through, or not."""
        if scope["type"] != "http" or scope["method"] == "GET":
            await self.app(scope, receive, send)
            return
        self.writes += 1
        if self.importer is not None and self.writes == self.at:
            await self._kill(scope, receive, send)
        elif self.loses and self.writes % 2 and scope["path"].startswith("/api/"):
            await self.app(scope, receive, _nowhere)
            await _away(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _kill(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.done:
            await self.app(scope, receive, _nowhere)
        assert self.importer is not None
        os.killpg(self.importer.pid, signal.SIGKILL)
        await self.importer.wait()
        await _away(scope, receive, send)


async def _nowhere(_message: Message) -> None:
    """A response that nobody gets."""


async def _away(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"Retry-After": "0"}
    await JSONResponse({"message": "503"}, HTTPStatus.SERVICE_UNAVAILABLE, headers)(scope, receive, send)


@pytest.fixture
async def door(tmp_path: Path, sqlite_url: str) -> AsyncIterator[tuple[Door, Site]]:
    """The installation that projects come to, behind its door."""
    async with open_site(tmp_path / "target", sqlite_url) as opened:
        door = Door(opened.app)
        opened.app = door
        async with serving(opened):
            yield door, opened


@pytest.fixture
def target(door: tuple[Door, Site]) -> Site:
    """The installation alone."""
    return door[1]


async def words(source: Site, path: str) -> list[str]:
    """The command line of an import."""
    return ["import", "gitlab", source.services.settings.url, await source.path(), "--to", path, "--activate-schedules"]


async def killed(door: Door, source: Site, mover: Shell, path: str, at: int, *, done: bool) -> bool:
    """Import as a process of its own, which is killed at a write; whether it came so far."""
    door.at, door.done, door.writes = at, done, 0
    process = await asyncio.create_subprocess_exec(
        *command(*await words(source, path)),
        cwd=mover.folder,
        env={**mover.environment, "PERDURE_SOURCE_TOKEN": source.root.token, "TMPDIR": str(mover.folder)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    door.importer = process
    try:
        _, err = await asyncio.wait_for(process.communicate(), 60)
    finally:
        door.importer = None
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode in {0, -signal.SIGKILL}, err.decode()
    return process.returncode != 0


async def nothing_is_dangerous(target: Site, path: str) -> None:
    """What stands there after a kill harms nobody."""
    home = f"/api/v4/projects/{path.replace('/', '%2F')}"
    async with target.client(target.root) as client:
        if (await client.get(home)).status_code == HTTPStatus.NOT_FOUND:
            return
        for one in await good(client, "GET", f"{home}/variables"):
            assert one["key"] != "DEPLOY" or (one["protected"] and one["masked"])
        for one in await good(client, "GET", f"{home}/pipeline_schedules"):
            full = await good(client, "GET", f"{home}/pipeline_schedules/{one['id']}")
            assert not one["active"] or len(full["variables"]) == 2
        assert "main" in {one["name"] for one in await good(client, "GET", f"{home}/protected_branches")}
        assert await good(client, "GET", f"{home}/pipelines") == []


async def comes_through(door: Door, source: Site, target: Site, mover: Shell, at: int, *, done: bool) -> bool:
    """Kill an import at a write and run it again; whether it was killed."""
    path = f"moved-{at}-{int(done)}/web/shop"
    was_killed = await killed(door, source, mover, path, at, done=done)
    await nothing_is_dangerous(target, path)
    again = await mover(*await words(source, path), "--yes", PERDURE_SOURCE_TOKEN=source.root.token)
    assert again.code == 0, f"after a kill at {at}: {again.out}{again.err}"
    await alike(source, target, path)
    active = {one["description"]: one["active"] for one in await schedules_of(target, path)}
    assert active == {"nightly": True, "weekly": False}
    return was_killed


async def test_an_import_that_was_killed_is_completed(door: tuple[Door, Site], source: Site, mover: Shell) -> None:
    for at, done in SOMEWHERE:
        assert await comes_through(*_with(door, source, mover), at, done=done), at


@pytest.mark.parametrize("done", [False, pytest.param(True, marks=pytest.mark.nightly)])
async def test_wherever_an_import_is_killed_it_is_completed(
    door: tuple[Door, Site], source: Site, mover: Shell, done: bool
) -> None:
    """A push tries every third write."""
    every = amount(3, 1)
    points = range(1, EVERYWHERE, every)
    kills = [await comes_through(*_with(door, source, mover), at, done=done) for at in points]
    assert kills.count(True) > 20 // every
    assert kills[-1] is False


def _with(door: tuple[Door, Site], source: Site, mover: Shell) -> tuple[Door, Site, Site, Shell]:
    return door[0], source, door[1], mover


async def test_answers_that_are_lost_make_nothing_twice(door: tuple[Door, Site], source: Site, mover: Shell) -> None:
    door[0].loses = True
    done = await mover(*await words(source, "moved/shop"), PERDURE_SOURCE_TOKEN=source.root.token)
    assert done.code == 0, done.out + done.err
    await alike(source, door[1], "moved/shop")


async def test_two_that_import_at_once_leave_nothing_half(door: tuple[Door, Site], source: Site, mover: Shell) -> None:
    token = {"PERDURE_SOURCE_TOKEN": source.root.token}
    line = await words(source, "moved/shop")
    await mover(*line, **token)
    found: list[Any] = await asyncio.gather(*(mover.process(*line, "--yes", **token) for _ in range(2)))
    assert [code for code, _, _ in found] == [0, 0], found
    await alike(source, door[1], "moved/shop")
