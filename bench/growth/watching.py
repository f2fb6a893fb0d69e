"""What others feel while one does what is heavy: a project is removed, or many read the largest list."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from statistics import median
from typing import Final

from bench.growth.asking import Running, compared
from bench.rows import Row, Side

MAX_FELT: Final = 250.0
"""Milliseconds that nobody waits longer for."""
CALLERS: Final = 10
_EVERY: Final = 0.02
_WATCHED: Final = 15.0
_GONE: Final = 900.0
"""Seconds in which a project is removed."""


async def removals(kind: str, sides: Sequence[Running]) -> list[Row]:
    """An empty project and the largest one: until the 202, until it is gone, and what others felt meanwhile."""
    found = []
    for side, size in zip(sides, ("small", "large"), strict=True):
        for which, project in (("empty", await _empty_project(side)), ("largest", side.home.projects[0])):
            name = f"growth, {kind}: removal of {which} project, {size}"
            async with _watched(side) as waits:
                begin = time.perf_counter()
                accepted, gone = await _removed(side, project)
            found += [
                Row(f"{name}, until 202", (accepted - begin) * 1e3, "ms", MAX_FELT, Side.AT_MOST),
                Row(f"{name}, until it is gone", gone - begin, "s"),
                Row(f"{name}, longest wait of /-/health", max(waits) * 1e3, "ms", MAX_FELT, Side.AT_MOST),
            ]
    return found


async def anonymous(kind: str, sides: Sequence[Running]) -> list[Row]:
    """Callers without a token read the jobs of the largest project over and over; how long others wait meanwhile."""
    took = []
    for side in sides:
        calling = [asyncio.create_task(_call(side)) for _ in range(CALLERS)]
        async with _watched(side) as waits:
            await asyncio.sleep(_WATCHED)
        took.append(median(waits))
        for task in calling:
            task.cancel()
        await asyncio.gather(*calling, return_exceptions=True)
    return compared(f"growth, {kind}: others beside {CALLERS} anonymous readers of jobs", took)


async def _call(side: Running) -> None:
    way = side.connection()
    try:
        while True:
            answer = await way.request("GET", side.path("/api/v4/projects/{project}/jobs?per_page=20"))
            if answer.status != 200:
                raise RuntimeError(f"an anonymous caller was answered {answer.status}")
    finally:
        way.close()


@asynccontextmanager
async def _watched(side: Running) -> AsyncIterator[list[float]]:
    """Ask again and again whether it lives; the waits in seconds, also of a call that has no response yet."""
    waits: list[float] = []

    async def watch() -> None:
        way = side.connection()
        try:
            while True:
                begin = time.perf_counter()
                try:
                    await way.request("GET", "/-/health")
                finally:
                    waits.append(time.perf_counter() - begin)
                await asyncio.sleep(_EVERY)
        finally:
            way.close()

    watching = asyncio.create_task(watch())
    try:
        yield waits
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _empty_project(side: Running) -> int:
    way = side.connection()
    head = (*side.headers, b"content-type: application/json")
    answer = await way.request("POST", "/api/v4/projects", b'{"name": "empty"}', head)
    way.close()
    if answer.status != 201:
        raise RuntimeError(f"a project was answered {answer.status}: {bytes(answer.body[:200])!r}")
    return int(answer.body.split(b'"id":', 1)[1].split(b",", 1)[0])


async def _removed(side: Running, project: int) -> tuple[float, float]:
    """When it was accepted and when its repository and rows were gone."""
    way = side.connection()
    answer = await way.request("DELETE", f"/api/v4/projects/{project}", headers=side.headers)
    accepted = time.perf_counter()
    way.close()
    if answer.status != 202:
        raise RuntimeError(f"the removal was answered {answer.status}: {bytes(answer.body[:200])!r}")
    place = side.servers.settings.repository_root / f"{project}.git"
    deadline = accepted + _GONE
    while place.exists():
        if time.perf_counter() > deadline:
            raise RuntimeError(f"project {project} is still there after {_GONE:.0f} s")
        await asyncio.sleep(_EVERY)
    return accepted, time.perf_counter()
