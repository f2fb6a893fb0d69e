"""Six readers of the largest thread, and what everybody else notices: who asks whether we live, and a runner.

The thread has 400 notes of 19,900 characters that cost the renderer most, written into the database, so that nothing of
them is rendered when the readers come. They read its pages, the page of the merge request and its events, anonymously,
in a process of their own.
"""

import asyncio
import contextlib
import json
import sys
import time
from statistics import quantiles
from typing import Any, Final

import httpx
from sqlalchemy import insert, select

from bench import whole_way
from bench.options import Options
from bench.rows import Row, Side
from bench.servers import Servers, peak_mebibytes, running
from models.clock import system_clock
from models.repositories.merge_requests import merge_request_notes
from models.repositories.merge_requests.merge_requests import merge_request
from models.session import Database

NOTES: Final = 400
LENGTH: Final = 19_900
READERS: Final = 6
SECONDS: Final = 60.0
IDLE: Final = 20.0
"""Seconds before, in which nobody reads: what the machine itself makes of such calls."""
MAX_WAIT: Final = 250.0
"""Milliseconds."""
MAX_MEMORY: Final = 400.0
"""MiB."""
_THREAD: Final = "a" * 40
_COLUMNS: Final = 60
_TEXTS: Final = (
    "![[" * LENGTH,
    "|" + "a|" * _COLUMNS + "\n|" + "-|" * _COLUMNS + "\n" + "|\n" * LENGTH,
    "* * * a\n" * LENGTH,
    "- a\n" * LENGTH,
)
"""Links that never end, a wide table, and lists: 0.1 to 2 s each, and up to 37 times as much HTML."""
_PAUSE: Final = 0.05
_CONFIGURATION: Final = "job: {script: ['true'], rules: [{when: never}]}\nother: {script: ['true']}\n"


def rows(_options: Options) -> list[Row]:
    """The longest waits of a minute."""
    found = asyncio.run(_measure())
    table = [
        Row("liveness, the longest of the waits", found["health"], "ms", MAX_WAIT, Side.AT_MOST),
        Row("a runner's poll, the longest", found["poll"], "ms", MAX_WAIT, Side.AT_MOST),
        Row("liveness, of a hundred the longest but one", found["health_p99"], "ms"),
        Row("a runner's poll, of a hundred the longest but one", found["poll_p99"], "ms"),
        Row("liveness without readers, the longest", found["idle_health"], "ms"),
        Row("a runner's poll without readers, the longest", found["idle_poll"], "ms"),
        Row("asked meanwhile", found["asked"], "calls"),
        Row("pages of the thread, read meanwhile", found["pages"], "pages"),
        Row("the largest of them", found["largest"], "KiB"),
        Row("the longest wait for one", found["longest"], "ms"),
        Row("memory of the API, at most", found["memory"], "MiB", MAX_MEMORY, Side.AT_MOST),
        Row("memory of the API before", found["before"], "MiB"),
    ]
    return [Row(f"notes: {row.name}", row.measured, row.unit, row.bar, row.side) for row in table]


async def _measure() -> dict[str, float]:
    async with running(front=True) as servers:
        target = await whole_way.set_up(servers, _CONFIGURATION, 1)
        paths = await _thread(servers, target.project)
        await asyncio.sleep(5)  # what a start leaves to be done
        idle = asyncio.create_task(asyncio.sleep(IDLE))
        alone = await _asked_until(idle, servers, target.runners[0])
        before = peak_mebibytes(servers.processes["api"])
        order = {"address": f"http://127.0.0.1:{servers.port}", "paths": paths, "seconds": SECONDS}
        command = (sys.executable, "-m", "bench.notes")
        pipe = asyncio.subprocess.PIPE
        readers = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        reading = asyncio.create_task(readers.communicate(json.dumps(order).encode()))
        waits = await _asked_until(reading, servers, target.runners[0])
        told, _ = await reading
        memory = {"memory": peak_mebibytes(servers.processes["api"]), "before": before}
        return {**waits, **{f"idle_{name}": wait for name, wait in alone.items()}, **json.loads(told), **memory}


async def _thread(servers: Servers, project: int) -> list[str]:
    """Write the thread; the paths of its pages."""
    async with _client(servers) as api:
        place = f"/api/v4/projects/{project}"
        action = {"action": "create", "file_path": "x", "content": "x"}
        branch = {"branch": "feature", "start_branch": "main", "commit_message": "Add x", "actions": [action]}
        (await api.post(f"{place}/repository/commits", json=branch)).raise_for_status()
        opened = {"source_branch": "feature", "target_branch": "main", "title": "Bring x"}
        (await api.post(f"{place}/merge_requests", json=opened)).raise_for_status()
        project_path = (await api.put(place, json={"visibility": "public"})).raise_for_status().json()
        base = f"/{project_path['path_with_namespace']}/-/merge_requests/1"
        # What is done once in a process, such as compiling templates, is none of this.
        (await api.get(base, headers={"Accept": "text/html"})).raise_for_status()
    database = Database(servers.settings.database)
    try:
        await _write(database)
    finally:
        await database.close()
    pages = [f"{base}?thread={_THREAD}&page={number}" for number in range(1, NOTES // 50 + 1)]
    return [base, *pages, f"{base}/events?once", f"{base}/events?once&thread={_THREAD}"]


async def _write(database: Database) -> None:
    now, note = system_clock(), merge_request_notes.note
    async with database.read() as connection:
        request = (await connection.execute(select(merge_request))).mappings().one()
    shared: dict[str, Any] = {
        "merge_request_id": request["id"],
        "author_id": request["author_id"],
        "discussion": _THREAD,
        "kind": "DiscussionNote",
        "system": False,
        "internal": False,
        "resolvable": True,
        "created_at": now,
        "updated_at": now,
    }
    values = [{**shared, "body": _TEXTS[number % len(_TEXTS)][:LENGTH]} for number in range(NOTES)]
    async with database.write() as connection:
        await connection.execute(insert(note), values)


async def _asked_until(reading: "asyncio.Task[Any]", servers: Servers, runner: str) -> dict[str, float]:
    """The longest waits for both kinds of call while others read."""
    poll = {"token": runner, "system_id": "s_bench", "info": {}}
    waits: dict[str, list[float]] = {"health": [], "poll": []}
    async with _client(servers) as api:
        while not reading.done():
            begin = time.perf_counter()
            (await api.get("/-/health")).raise_for_status()
            between = time.perf_counter()
            (await api.post("/api/v4/jobs/request", json=poll)).raise_for_status()
            waits["health"].append((between - begin) * 1_000)
            waits["poll"].append((time.perf_counter() - between) * 1_000)
            await asyncio.sleep(_PAUSE)
    longest = {name: max(found) for name, found in waits.items()}
    usual = {f"{name}_p99": quantiles(found, n=100)[-1] for name, found in waits.items()}
    return {**longest, **usual, "asked": sum(map(len, waits.values()))}


def _client(servers: Servers) -> httpx.AsyncClient:
    address = f"http://127.0.0.1:{servers.port}"
    return httpx.AsyncClient(base_url=address, headers={"private-token": servers.token}, timeout=60, trust_env=False)


async def _read(address: str, paths: list[str], seconds: float) -> dict[str, float]:
    """Read, with as many readers, for so long; each begins at another page."""
    sizes, took = [0], [0.0]

    async def reader(first: int) -> None:
        async with httpx.AsyncClient(base_url=address, timeout=120, trust_env=False) as client:
            client.headers["Accept"] = "text/html"
            for turn in range(10**9):
                begin = time.perf_counter()
                response = await client.get(paths[(first + turn) % len(paths)])
                response.raise_for_status()
                took.append((time.perf_counter() - begin) * 1_000)
                sizes.append(len(response.content))

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(reader(number) for number in range(READERS)))
    return {"pages": len(sizes) - 1, "largest": max(sizes) / 1024, "longest": max(took)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_read(**json.load(sys.stdin)))))
