"""Pushes: how soon the first job of a pushed commit can be claimed, many at once, and clones beside `git daemon`.

The repository has 5,000 commits and 2,000 files, its configuration 200 jobs. The moment at which a ref has moved is
that of its file; the moment at which a job became pending is that of its row: both are of this machine's clock.
"""

import asyncio
import os
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx

from bench.gen_ci_yaml import mixed
from bench.options import Options
from bench.rows import Row, Side
from bench.servers import Servers, running
from rigs.ports import free_port

COMMITS: Final = 5_000
FILES: Final = 2_000
FILE_BYTES: Final = 6_000
JOBS: Final = 200
PUSHES: Final = 40
"""One after the other, after some to warm up."""
WARM_UP: Final = 5
MAX_CONCURRENT: Final = 50
CLONES: Final = 3

MAX_MEDIAN: Final = 300.0
"""Milliseconds."""
LEAST_RATIO: Final = 0.7

_LIMIT: Final = 180.0
"""Seconds after which what has not come will not come."""
_SEED: Final = 7
_IDENTITY: Final = {
    **{f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
}


def rows(options: Options) -> list[Row]:
    """Measure once: 40 pushes one by one, 50 at once, and three clones of each kind."""
    took = asyncio.run(_measure(front=options.front))
    return [
        Row("push: ref moved to first row pending, p50", took["p50"], "ms", MAX_MEDIAN, Side.AT_MOST),
        Row("push: ref moved to first row pending, p90", took["p90"], "ms"),
        Row("push: the whole of `git push`, p50", took["push"], "ms"),
        Row(
            f"push: {MAX_CONCURRENT} at once, pipelines made", took["made"], "pipelines", MAX_CONCURRENT, Side.AT_LEAST
        ),
        Row(f"push: {MAX_CONCURRENT} at once, until the last first row is pending", took["all"], "s"),
        Row("push: clone, bytes a second beside git daemon", took["ratio"], "x", LEAST_RATIO, Side.AT_LEAST),
        Row("push: clone of ours", took["clone"], "s"),
    ]


async def _measure(*, front: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="perdure-push-") as folder:
        source = Path(folder) / "source.git"
        _history(source)
        async with running(front=front) as servers:
            place = await _project(servers)
            _git(source, "push", "-q", "-o", "ci.no_pipeline", place.remote, "main")
            one_by_one = _pushes_one_by_one(source, place)
            many = await _pushes_at_once(source, place)
            return {**one_by_one, **many, **_clones(Path(folder), place)}


class Place:
    """A project of the server: where to push, its repository on disk, and the database."""

    def __init__(self, servers: Servers, project: dict[str, object]) -> None:
        """The project as the API gave it."""
        settings = servers.settings
        self.remote = f"http://root:{servers.token}@127.0.0.1:{servers.port}/{project['path_with_namespace']}.git"
        self.repository = settings.repository_root / f"{project['id']}.git"
        self._database = settings.home / "perdure.db"

    def pending_after(self, branches: list[str]) -> list[float]:
        """Seconds from the move of each branch to the first pending job of its pipeline, when all have one."""
        deadline = time.monotonic() + _LIMIT
        while len(found := self._first_pending(branches)) < len(branches):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(branches) - len(found)} of {len(branches)} pushes have no job pending.")
            time.sleep(0.05)
        return [found[name] - (self.repository / "refs/heads" / name).stat().st_mtime for name in branches]

    def pipelines(self, branches: list[str]) -> int:
        """How many pipelines these branches have."""
        marks = ",".join("?" * len(branches))
        with closing(sqlite3.connect(self._database)) as database:
            query = f"SELECT count(*) FROM pipeline WHERE ref IN ({marks})"
            return int(database.execute(query, branches).fetchone()[0])

    def _first_pending(self, branches: list[str]) -> dict[str, float]:
        marks = ",".join("?" * len(branches))
        query = (
            "SELECT pipeline.ref, min(job.queued_at) FROM job JOIN pipeline ON pipeline.id = job.pipeline_id "
            f"WHERE job.queued_at IS NOT NULL AND pipeline.ref IN ({marks}) GROUP BY pipeline.ref"
        )
        with closing(sqlite3.connect(self._database)) as database:
            rows = database.execute(query, branches).fetchall()
        return {ref: datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() for ref, text in rows}


async def _project(servers: Servers) -> Place:
    address = f"http://127.0.0.1:{servers.port}/api/v4/projects"
    async with httpx.AsyncClient(headers={"PRIVATE-TOKEN": servers.token}, trust_env=False) as client:
        response = await client.post(address, json={"name": "push"})
        response.raise_for_status()
        return Place(servers, response.json())


def _history(source: Path) -> None:
    """A bare repository whose `main` has all commits and files; the same one every time."""
    _git(source.parent, "init", "-q", "--bare", "-b", "main", source.name)
    chance = random.Random(_SEED)
    importing = subprocess.Popen(("git", "fast-import", "--quiet"), cwd=source, stdin=subprocess.PIPE, env=_IDENTITY)
    assert importing.stdin is not None
    for number in range(COMMITS):
        changed = range(FILES) if number == 0 else (chance.randrange(FILES),)
        files = {f"src/{file % 40}/file{file}.txt": chance.randbytes(FILE_BYTES // 2).hex() for file in changed}
        if number == 0:
            files[".gitlab-ci.yml"] = mixed(JOBS)
        importing.stdin.write(_commit(number, files))
    importing.stdin.close()
    if importing.wait():
        raise RuntimeError("git fast-import did not take the history.")


def _commit(number: int, files: dict[str, str]) -> bytes:
    lines = [
        b"commit refs/heads/main",
        b"committer bench <bench> %d +0000" % (1_700_000_000 + number),
        b"data 6",
        b"Change",
    ]
    for path, text in files.items():
        content = text.encode()
        lines += [b"M 100644 inline " + path.encode(), b"data %d" % len(content), content]
    return b"\n".join(lines) + b"\n"


def _new_commit(source: Path, number: int) -> str:
    """A commit on top of `main` that changes nothing but is another one; its sha."""
    tree = _git(source, "rev-parse", "main^{tree}")
    return _git(source, "commit-tree", tree, "-p", "main", "-m", f"Push {number}")


def _pushes_one_by_one(source: Path, place: Place) -> dict[str, float]:
    names, took = [], []
    for number in range(WARM_UP + PUSHES):
        name, sha = f"single{number}", _new_commit(source, number)
        began = time.monotonic()
        _git(source, "push", "-q", place.remote, f"{sha}:refs/heads/{name}")
        took.append(time.monotonic() - began)
        names.append(name)
        place.pending_after([name])
    waited = sorted(1_000 * seconds for seconds in place.pending_after(names[WARM_UP:]))
    return {
        "p50": statistics.median(waited),
        "p90": waited[len(waited) * 9 // 10],
        "push": 1_000 * statistics.median(took[WARM_UP:]),
    }


async def _pushes_at_once(source: Path, place: Place) -> dict[str, float]:
    shas = {f"many{number}": _new_commit(source, 1_000 + number) for number in range(MAX_CONCURRENT)}
    began = time.time()
    pushing = [
        await asyncio.create_subprocess_exec(
            "git", "push", "-q", place.remote, f"{sha}:refs/heads/{name}", cwd=source, env=_IDENTITY
        )
        for name, sha in shas.items()
    ]
    codes = await asyncio.gather(*(process.wait() for process in pushing))
    if any(codes):
        raise RuntimeError(f"{sum(map(bool, codes))} of {MAX_CONCURRENT} pushes failed.")
    waited = await asyncio.to_thread(place.pending_after, list(shas))
    moved = [(place.repository / "refs/heads" / name).stat().st_mtime for name in shas]
    last = max(start + seconds for start, seconds in zip(moved, waited, strict=True))
    return {"made": place.pipelines(list(shas)), "all": last - began}


def _clones(folder: Path, place: Place) -> dict[str, float]:
    """Whole clones in turn, by our HTTP and by a plain daemon over the same repository."""
    _git(place.repository, "repack", "-adq")
    ours, theirs = [], []
    with _daemon(place.repository.parent) as address:
        plain = f"{address}/{place.repository.name}"
        for number in range(CLONES):
            ours.append(_clone_seconds(place.remote, folder / f"ours{number}"))
            theirs.append(_clone_seconds(plain, folder / f"theirs{number}"))
    return {"ratio": statistics.median(theirs) / statistics.median(ours), "clone": statistics.median(ours)}


def _clone_seconds(address: str, target: Path) -> float:
    began = time.monotonic()
    _git(target.parent, "clone", "-q", "--bare", "--single-branch", "-b", "main", address, target)
    return time.monotonic() - began


@contextmanager
def _daemon(folder: Path) -> Iterator[str]:
    port = free_port()
    words = ("--reuseaddr", "--export-all", f"--base-path={folder}", "--listen=127.0.0.1", f"--port={port}")
    process = subprocess.Popen(("git", "daemon", *words, str(folder)), env=_IDENTITY, start_new_session=True)
    try:
        address = f"git://127.0.0.1:{port}"
        deadline = time.monotonic() + 20
        while (
            subprocess.run(("git", "ls-remote", f"{address}/none"), env=_IDENTITY, capture_output=True).stderr.find(
                b"unable to connect"
            )
            >= 0
        ):
            if time.monotonic() > deadline:
                raise RuntimeError("git daemon does not listen.")
        yield address
    finally:
        os.killpg(process.pid, 15)
        process.wait()


def _git(folder: Path, *words: str | Path) -> str:
    done = subprocess.run(("git", *words), cwd=folder, env=_IDENTITY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {words[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout.strip()
