"""A real PostgreSQL for tests and benches: one server for a run, a fresh database for whoever asks.

PostgreSQL refuses to run as root; then it runs as the user `postgres`, or as `nobody`.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import asyncpg

from rigs.ports import LOCAL, free_port

DRIVER = "postgresql+asyncpg://"
OWNER = "perdure"
_PATIENCE = 60
_DEBIAN = Path("/usr/lib/postgresql")

_INIT = (
    "--username",
    OWNER,
    "--auth",
    "trust",
    "--encoding",
    "UTF8",
    "--locale",
    "C.UTF-8",
    "--no-sync",
    "--no-instructions",
)
OPTIONS = {
    "max_connections": "200",
    "shared_buffers": "64MB",
    # The test kills our processes, never this server and never the machine: nothing has to reach the disk.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
}


class NotInstalledError(RuntimeError):
    """There is no PostgreSQL on this machine."""


def postgres_programs() -> Path:
    """The folder of `initdb` and `pg_ctl`. Raises `NotInstalledError`."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if versions:
        return versions[-1].parent
    raise NotInstalledError("not run: PostgreSQL")


@contextmanager
def postgres_server(settings: Mapping[str, str] = OPTIONS) -> Iterator[str]:
    """Run a server; yields the SQLAlchemy address of its database `postgres`. See `fresh_database`.

    Raises `NotInstalledError`; at the end `AssertionError` if transactions met in a deadlock meanwhile: whoever loses
    such a meeting tries again, so that nobody else would tell.
    """
    programs = postgres_programs()
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="perdure-postgres-"))
    if user is not None:
        shutil.chown(folder, user)
    data, port = folder / "data", free_port()
    words: list[str | Path] = ["--pgdata", data, "--wait", "--timeout", str(_PATIENCE), "--silent"]
    control = [programs / "pg_ctl", *words]
    try:
        _run([programs / "initdb", "--pgdata", data, *_INIT], folder, user)
        own = {"listen_addresses": LOCAL, "port": str(port), "unix_socket_directories": str(folder)}
        words_of = " ".join(f"-c {name}={value}" for name, value in {**own, **settings}.items())
        _run([*control, "--log", folder / "log", "--options", words_of, "start"], folder, user)
        try:
            yield f"{DRIVER}{OWNER}@{LOCAL}:{port}/postgres"
        finally:
            _run([*control, "--mode", "immediate", "stop"], folder, user)
        _expect_no_deadlock((folder / "log").read_text(errors="replace"))
    finally:
        with suppress(FileNotFoundError):  # a process of the server that ends last removes its own files meanwhile
            shutil.rmtree(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _expect_no_deadlock(log: str) -> None:
    before, found, after = log.partition("deadlock detected")
    if found:
        raise AssertionError(f"PostgreSQL had to end a deadlock:\n{before[-200:]}{found}{after[:6000]}")


def _user() -> str | None:
    """Whom to run as; None: as we are."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(command: Sequence[str | Path], folder: Path, user: str | None) -> None:
    # Output goes to a file: the server inherits it, and a pipe would stay open as long as the server runs.
    with (folder / "programs.log").open("a+b") as output:
        done = subprocess.run(
            command,
            cwd=folder,
            user=user,
            group=None if user is None else pwd.getpwnam(user).pw_gid,
            extra_groups=None if user is None else [],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=_PATIENCE * 2,
            check=False,
        )
        if done.returncode != 0:
            output.seek(0)
            raise RuntimeError(f"{command[0]} failed:\n{output.read().decode('utf-8', 'replace')}")


@asynccontextmanager
async def fresh_database(server: str) -> AsyncIterator[str]:
    """Make an empty database on the server of that address; yields its own address. It is dropped at the end."""
    name = f"test_{uuid4().hex}"
    await _tell(server, f"CREATE DATABASE {name}")
    try:
        yield f"{server.rpartition('/')[0]}/{name}"
    finally:
        await _tell(server, f"DROP DATABASE {name} WITH (FORCE)")


async def _tell(server: str, statement: str) -> None:
    connection = await asyncpg.connect(server.replace(DRIVER, "postgresql://"))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
