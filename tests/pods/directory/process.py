"""The directory as a process of its own, which tests kill and start again."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from pods.directory_client import DirectoryClient
from pods.directory_tokens import FILE
from rigs.ports import LOCAL, free_port
from tests.pods.directory.served import tokens_in
from tests.waiting import HANGS, eventually

ROOT = Path(__file__).parents[3]


@dataclass
class DirectoryProcess:
    """A directory at one address, which need not run."""

    home: Path
    database_url: str = ""
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    was_there: bool = False
    metrics_port: int = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{LOCAL}:{self.port}"

    @property
    def admin(self) -> str:
        """Its admin token."""
        return tokens_in(self.home)[0]

    @property
    def read(self) -> str:
        """Its read token."""
        return tokens_in(self.home)[1]

    def client(self) -> DirectoryClient:
        """Calls as an administrator."""
        return DirectoryClient(self.url, lambda: self.admin)

    async def start(self, *words: str) -> None:
        """Run it until it answers; `words` are those of `tests.pods.directory.crashing`."""
        self._run(words)

        async def answers() -> bool:
            assert self.process is not None
            if self.process.poll() is not None:
                said = (self.home / "directory.log").read_text()
                assert "address already in use" in said, said
                assert not self.was_there, said
                self.port = free_port()  # somebody took it who does not ask for ports
                self._run(words)
            try:
                async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as http:
                    is_well = (await http.get(f"{self.url}/-/health")).status_code == 200
            except httpx.HTTPError:
                return False
            # Whoever else has the port may be well, too.
            return is_well and (self.home / FILE).exists() and self.process.poll() is None

        await eventually(answers, "the directory answers", 60)
        self.was_there = True

    def _run(self, words: tuple[str, ...]) -> None:
        module = "tests.pods.directory.crashing" if words else "pods.directory"
        own = {
            "PERDURE_HOME": str(self.home),
            "PERDURE_DIRECTORY_PORT": str(self.port),
            "PERDURE_DIRECTORY_METRICS_PORT": str(self.metrics_port),
            "PERDURE_DIRECTORY_DATABASE_URL": self.database_url,
            "PERDURE_LOG_LEVEL": "WARNING",
        }
        with (self.home / "directory.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *words], cwd=ROOT, env={**os.environ, **own}, stdout=log, stderr=log
            )

    async def ended(self) -> int:
        """Wait until it has ended by itself; its exit status."""
        assert self.process is not None
        return await asyncio.to_thread(self.process.wait, 20)

    async def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        """End it; its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return await self.ended()


@asynccontextmanager
async def directory_process(home: Path, database_url: str = "") -> AsyncIterator[DirectoryProcess]:
    """One that is ended at the end, if it runs then."""
    found = DirectoryProcess(home, database_url)
    try:
        yield found
    finally:
        if found.process is not None and found.process.poll() is None:
            await found.kill()
