"""A runner as a process of its own, which may be killed and started again."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.server import ProtocolServer

ROOT = Path(__file__).parents[2]
Start = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture(name="start")
async def start_runner(server: ProtocolServer, tmp_path: Path) -> AsyncIterator[Start]:
    """Starts `perdure runner run`; whatever still runs at the end is ended by its process id."""
    config = tmp_path / "config.toml"
    config.write_text(
        f"""
check_interval = 0.05
[perdure]
max_backoff = 0.1
max_retry_after = 0.1
[[runners]]
url = "{server.url}"
token = "glrt-abcdefghijk"
"""
    )
    started: list[asyncio.subprocess.Process] = []

    async def run(*words: str) -> asyncio.subprocess.Process:
        program = "from cli.installation.runner import app; app()"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            "run",
            "--config",
            str(config),
            *words,
            cwd=ROOT,
            stderr=asyncio.subprocess.DEVNULL,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.wait()


def records(tmp_path: Path) -> list[dict[str, Any]]:
    """The records of jobs that the runner has on disk; one may go while they are read."""
    found = []
    for file in (tmp_path / "state/jobs").glob("*.json"):
        with suppress(FileNotFoundError):
            found.append(json.loads(file.read_bytes()))
    return found
