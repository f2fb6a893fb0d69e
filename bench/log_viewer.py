"""The page of a job with a million lines of log in a browser, beside that of a job with one line.

What counts is the time from the request until the failing line can be read, and what scrolling through all of it leaves
in the tab. Wants Chromium at `/usr/bin/chromium`.
"""

import asyncio
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx
from playwright.async_api import Page, async_playwright, expect

from bench.held_jobs import HeldJobs, hold
from bench.options import Options
from bench.rows import Row, Side
from bench.servers import Servers, running

LINES: Final = 1_000_000
MAX_OPEN: Final = 1_000.0
"""Milliseconds."""
MAX_RATIO: Final = 3.0
"""Opening may take so many times as long as with a log of one line."""
MAX_HEAP: Final = 32.0
"""MiB of the tab's scripts after a walk through the log."""
MAX_ELEMENTS: Final = 2_000.0
_PIECE: Final = 1024 * 1024
_PROGRAM: Final = Path("/usr/bin/chromium")
_JUMPS: Final = 100


@dataclass(slots=True)
class Measured:
    """Milliseconds of each opening, and what the walk left."""

    short: list[float] = field(default_factory=list)
    long: list[float] = field(default_factory=list)
    jumps: list[float] = field(default_factory=list)
    heap: float = 0.0
    elements: float = 0.0
    search: float = 0.0


def rows(options: Options) -> list[Row]:
    """Medians of openings in turn."""
    found = asyncio.run(_measure(options.runs))
    short, long = median(found.short), median(found.long)
    table = [
        Row("page with a log of one line, open", short, "ms"),
        Row("page with a log of 1,000,000 lines, open", long, "ms", MAX_OPEN, Side.AT_MOST),
        Row("1,000,000 lines / one line", long / short, "ratio", MAX_RATIO, Side.AT_MOST),
        Row("a jump to any line, median", median(found.jumps), "ms"),
        Row("search in 100 MB, all hits", found.search, "ms"),
        Row("tab after 100 jumps: heap of scripts", found.heap, "MiB", MAX_HEAP, Side.AT_MOST),
        Row("tab after 100 jumps: elements", found.elements, "", MAX_ELEMENTS, Side.AT_MOST),
    ]
    return [Row(f"log viewer: {row.name}", row.measured, row.unit, row.bar, row.side) for row in table]


async def _measure(runs: int) -> Measured:
    found = Measured()
    async with running(front=False) as servers:
        held = await hold(servers, 2)
        project = await _address(servers, held)
        short, long = (f"{project}/-/jobs/{job}" for job, _ in held.jobs)
        await _fill(servers, held.jobs[0], b"error: all of it\n")
        await _fill(servers, held.jobs[1], b"".join(_lines()) + b"error: the end\n")
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=_PROGRAM, args=["--no-sandbox", "--disable-gpu"])
            page = await browser.new_page(extra_http_headers={"PRIVATE-TOKEN": servers.token})
            for _ in range(runs + 1):
                found.short.append(await _opened(page, short, 1))
                found.long.append(await _opened(page, long, LINES))
            del found.short[0], found.long[0]  # nothing is done for the first time
            await _walk(page, found)
            await browser.close()
    return found


def _lines() -> Iterator[bytes]:
    for number in range(LINES - 1):
        yield b"%07d a line of a build, with what it does and how long it takes %s\n" % (number, b"x" * 30)


async def _address(servers: Servers, held: HeldJobs) -> str:
    async with _client(servers) as api:
        return str((await api.get(f"/api/v4/projects/{held.project}")).json()["web_url"])


async def _fill(servers: Servers, job: tuple[int, str], log: bytes) -> None:
    """Send a log, and end the job."""
    number, token = job
    async with _client(servers) as api:
        for start in range(0, len(log), _PIECE):
            piece = log[start : start + _PIECE]
            place = {"JOB-TOKEN": token, "Content-Range": f"{start}-{start + len(piece) - 1}"}
            (await api.patch(f"/api/v4/jobs/{number}/trace", content=piece, headers=place)).raise_for_status()
        output = {"checksum": f"crc32:{zlib.crc32(log):08x}", "bytesize": len(log)}
        verdict: dict[str, Any] = {"token": token, "state": "failed", "failure_reason": "script_failure"}
        (await api.put(f"/api/v4/jobs/{number}", json={**verdict, "output": output})).raise_for_status()


def _client(servers: Servers) -> httpx.AsyncClient:
    address = f"http://127.0.0.1:{servers.port}"
    return httpx.AsyncClient(base_url=address, headers={"private-token": servers.token}, timeout=60, trust_env=False)


async def _opened(page: Page, address: str, line: int) -> float:
    begin = time.perf_counter()
    await page.goto(address, wait_until="commit")
    await expect(page.locator(f".log-rows #L{line} .said")).to_contain_text("error:", timeout=20_000)
    return 1_000 * (time.perf_counter() - begin)


async def _walk(page: Page, found: Measured) -> None:
    for jump in range(_JUMPS):
        line = 1 + (jump * 617_051) % LINES
        begin = time.perf_counter()
        await page.evaluate("line => { location.hash = `#L${line}`; }", line)
        await expect(page.locator(f".log-rows #L{line} .said")).not_to_be_empty()
        found.jumps.append(1_000 * (time.perf_counter() - begin))
    begin = time.perf_counter()
    await page.get_by_label("Search the whole log").fill("0777777 A LINE")
    await expect(page.locator('[data-log="hits"]')).to_have_text("1 / 1", timeout=60_000)
    found.search = 1_000 * (time.perf_counter() - begin)
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    heap = await page.evaluate("performance.memory.usedJSHeapSize")
    found.heap = heap / 1024 / 1024
    found.elements = float(await page.evaluate("document.querySelectorAll('*').length"))
