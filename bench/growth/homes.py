"""A whole home of a year: rows, a repository for each project, and a file in the store for each object that rows name.

Nothing of them is a hole or a link: each log and each archive has bytes of its own. What is not real are the checksums
that rows keep of them, and that each project has the same ten commits.
"""

import os
import random
import shutil
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Final

from sqlalchemy import text

from application.installation.identity import begin
from bench.growth.rows import Home, multiply
from models.clock import system_clock
from models.migrate import migrate
from models.repositories.installation import stored_facts
from models.session import Database
from settings import Settings

_COMMITS: Final = 10
_FILES: Final = 20
_LOG: Final = 2_000
_ARCHIVE: Final = 2_000
"""Bytes of a log, which is text, and of an archive, which is compressed already."""
_SEED: Final = 38
_LINES: Final = 400
_IDENTITY: Final = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"]}


async def make(settings: Settings, jobs: int, waiting: int = 0, *, has_files: bool = True, projects: int = 200) -> Home:
    """Fill an empty home: at least so many jobs that ended, so many that wait. Without files it has rows alone."""
    settings.home.mkdir(parents=True, exist_ok=True)
    database = Database(settings.database)
    try:
        await migrate(database)
        await begin(settings, database, system_clock())
        with tempfile.TemporaryDirectory(prefix="perdure-growth-") as folder:
            template = Path(folder) / "template.git"
            home = await multiply(database, jobs, waiting, projects=projects, commits=_history(template))
            if has_files:
                await _put_repositories(database, settings.repository_root, template)
                await _put_objects(database, settings)
    finally:
        await database.close()
    return home


def _history(path: Path) -> list[str]:
    """Make a bare repository with some commits; gives back their names."""
    _git("init", "-q", "--bare", "--template=", "-b", "main", str(path))
    words, stream = random.Random(_SEED), list[str]()
    for number in range(_COMMITS):
        stream.append(f"commit refs/heads/main\ncommitter Growth <growth@example.com> {1_700_000_000 + number} +0000")
        stream.append(f"data 3\n{number:03}")
        for file in range(_FILES):
            content = "\n".join(words.choice("alpha beta gamma delta epsilon".split()) for _ in range(200))
            stream.append(f"M 100644 inline src/file{file}.txt\ndata {len(content)}\n{content}")
    _git(f"--git-dir={path}", "fast-import", "--quiet", given="\n".join(stream) + "\n")
    return _git(f"--git-dir={path}", "rev-list", "--reverse", "main").split()


def _git(*words: str, given: str = "") -> str:
    return subprocess.run(
        ["git", *words], input=given, text=True, capture_output=True, check=True, env=_IDENTITY
    ).stdout


async def _put_repositories(database: Database, root: Path, template: Path) -> None:
    """One for each project, with a ref for each of its pipelines, packed."""
    head = _git(f"--git-dir={template}", "rev-parse", "main").strip()
    async with database.read() as connection:
        refs: defaultdict[int, list[str]] = defaultdict(list)
        for project, key, sha in await connection.execute(text("SELECT project_id, id, sha FROM pipeline")):
            refs[project].append(f"{sha} refs/pipelines/{key}")
        for row in await stored_facts.projects(connection):
            shutil.copytree(template, root / f"{row.id}.git")
            names = sorted([*refs[row.id], f"{head} refs/heads/main"], key=lambda line: line.split()[1])
            packed = "# pack-refs with: peeled fully-peeled sorted \n" + "\n".join(names) + "\n"
            (root / f"{row.id}.git" / "packed-refs").write_text(packed)


async def _put_objects(database: Database, settings: Settings) -> None:
    """A file for each log and each archive."""
    root = Path(settings.store.removeprefix("file://"))
    content = _Content()
    async with database.read() as connection:
        async for key in stored_facts.object_keys(connection):
            path = root / key
            try:
                path.write_bytes(content.make_bytes(key))
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.make_bytes(key))


class _Content:
    """Bytes that are like a log's, or like those of what is compressed, and different for each object."""

    def __init__(self) -> None:
        words = random.Random(_SEED)
        self._lines = [f"{number:05} compiling module {words.getrandbits(64):x} done" for number in range(_LINES)]
        self._chance = words.randbytes(1 << 20)
        self._number = 0

    def make_bytes(self, key: str) -> bytes:
        self._number += 1
        if key.endswith(".log"):
            begun = self._number * 37 % _LINES
            chosen = (self._lines[begun:] + self._lines[:begun])[: _LOG // 40]
            return f"$ make {key}\n{self._number}\n{chr(10).join(chosen)}\n".encode()[:_LOG]
        place = self._number * 977 % (len(self._chance) - _ARCHIVE)
        return key.encode() + self._chance[place : place + _ARCHIVE - len(key)]
