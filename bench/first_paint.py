"""The first paint of the demo's pages in a browser that has seen none of them.

The whole stack runs as `perdure up` starts it, and `perdure demo` has pushed its project. Wants Chromium at
`/usr/bin/chromium`.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx
from playwright.async_api import Browser, async_playwright

from bench.options import Options
from bench.rows import Row, Side
from cli.installation.ports import FIELDS
from rigs.ports import LOCAL, free_ports

MAX_PAINT: Final = 300.0
"""Milliseconds until the first content is seen."""
PAGES: Final = {
    "projects": "/",
    "pipelines": "/{project}/-/pipelines",
    "pipeline": "/{project}/-/pipelines/{pipeline}",
    "jobs of a pipeline": "/{project}/-/pipelines/{pipeline}/builds",
    "tests of a pipeline": "/{project}/-/pipelines/{pipeline}/test_report",
    "job": "/{project}/-/jobs/{job}",
    "run form": "/{project}/-/pipelines/new",
    "merge requests": "/{project}/-/merge_requests",
    "environments": "/{project}/-/environments",
    "schedules": "/{project}/-/pipeline_schedules",
    "figures": "/{project}/-/pipelines/charts",
}
PROJECT: Final = "demo/calculator"
_PROGRAM: Final = "/usr/bin/chromium"
_START_UP: Final = 180.0
_PAINTED: Final = """
() => new Promise((resolve) => {
  const look = () => { const seen = performance.getEntriesByName('first-contentful-paint')[0];
    if (seen) resolve(seen.startTime); else requestAnimationFrame(look); };
  look();
})
"""


def rows(options: Options) -> list[Row]:
    """The median of each page, visited in turns by new browsers; the slowest has the bar."""
    with _demo() as (url, token):
        found = asyncio.run(_measure(url, token, options.runs))
    table = [Row(f"first paint: {name}", median(times), "ms") for name, times in found.items()]
    return [*table, Row("first paint: the slowest", max(row.measured for row in table), "ms", MAX_PAINT, Side.AT_MOST)]


@contextmanager
def _demo() -> Iterator[tuple[str, str]]:
    """Address and token of a stack in which the demo's pipeline has ended."""
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as folder:
        Path(folder).chmod(0o755)
        ports = dict(
            zip((f"PERDURE_{field.upper()}" for field in FIELDS), map(str, free_ports(len(FIELDS))), strict=True)
        )
        environment = {**os.environ, **ports, "PERDURE_HOME": folder}
        try:
            _command(environment, "up")
            _command(environment, "demo", "--exit")
            token = json.loads((Path(folder) / "credentials.json").read_text())["token"]
            yield f"http://{LOCAL}:{ports['PERDURE_FRONT_PORT']}", token
        finally:
            _command(environment, "down", "--all")


def _command(environment: Mapping[str, str], *words: str) -> None:
    argv = (sys.executable, "-m", "cli.main", *words)
    subprocess.run(argv, env=environment, check=True, capture_output=True, timeout=_START_UP)


async def _measure(url: str, token: str, runs: int) -> dict[str, list[float]]:
    headers = {"PRIVATE-TOKEN": token}
    async with httpx.AsyncClient(
        base_url=f"{url}/api/v4/projects/{PROJECT.replace('/', '%2F')}", headers=headers
    ) as api:
        pipelines: list[dict[str, Any]] = (await api.get("/pipelines")).json()
        jobs: list[dict[str, Any]] = (await api.get("/jobs")).json()
    known = {"project": PROJECT, "pipeline": pipelines[0]["id"], "job": jobs[0]["id"]}
    found: dict[str, list[float]] = {name: [] for name in PAGES}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=_PROGRAM, args=["--no-sandbox", "--disable-gpu"])
        for turn in range(runs + 1):
            for name, path in PAGES.items():
                paint = await _paint(browser, url + path.format(**known), headers)
                if turn:  # nothing is done for the first time
                    found[name].append(paint)
        await browser.close()
    return found


async def _paint(browser: Browser, address: str, headers: dict[str, str]) -> float:
    """Milliseconds, in a browser without a cache."""
    context = await browser.new_context(extra_http_headers=headers)
    try:
        page = await context.new_page()
        response = await page.goto(address)
        assert response is not None
        assert response.ok, f"{address}: {response.status}"
        return float(await page.evaluate(_PAINTED))
    finally:
        await context.close()
