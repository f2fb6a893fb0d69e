"""The real front under its real supervisor, each a process of its own, for tests that kill either."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pods.process import is_alive
from pods.run_folder import RunFolder, RunRecord
from pods.stack import FRONT
from rigs.ports import LOCAL, free_port
from tests.program import Program, environment
from tests.waiting import eventually

STARTED_WITHIN = 20.0


@dataclass
class SupervisedFront:
    """`limits`: settings of the front (`PERDURE_FRONT_...`) by their names, such as `hold=1`."""

    home: Path
    limits: dict[str, object] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    api_port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        """Nothing is started yet."""
        known = {"HOME": self.home, "FRONT_PORT": self.port, "API_PORT": self.api_port}
        known |= {f"FRONT_{name.upper()}": value for name, value in self.limits.items()}
        known["TEMPORAL_ADDRESS"] = f"{LOCAL}:1"
        variables = environment(**{f"PERDURE_{name}": str(value) for name, value in known.items()})
        self.folder = RunFolder(self.home)
        argv = [sys.executable, "-m", "tests.pods.front_supervisor"]
        self.supervisor = Program(argv, self.home / "supervisor.log", env=variables)
        self.url = f"http://{LOCAL}:{self.port}"

    async def serving(self, but: int = 0) -> RunRecord:
        """The front that accepts connections now, another one than `but`; waits for it."""

        async def look() -> RunRecord | None:
            record = self.folder.read(FRONT)
            offers = record is not None and (self.folder.run / f"front-{record.pid}.sock").exists()
            return record if record and offers and record.pid != but and is_alive(record.identity) else None

        return await eventually(look, "a front serves", STARTED_WITHIN)

    async def kill(self) -> int:
        """`kill -9` of the front; its pid."""
        record = await self.serving()
        os.kill(record.pid, signal.SIGKILL)
        return record.pid

    def signal_supervisor(self, number: signal.Signals) -> None:
        """Send it one."""
        record = self.folder.read("supervisor")
        assert record is not None
        os.kill(record.pid, number)

    def end(self) -> None:
        """End every process that is recorded."""
        for record in self.folder.all():
            with suppress(ProcessLookupError):
                if is_alive(record.identity):
                    os.kill(record.pid, signal.SIGKILL)


@asynccontextmanager
async def supervised_front(folder: Path, **limits: object) -> AsyncIterator[SupervisedFront]:
    """From the first start to the end of every process of it."""
    made = SupervisedFront(folder / "home", limits)
    try:
        await made.supervisor.start()
        await made.serving()
        yield made
    finally:
        with suppress(AssertionError, ProcessLookupError):
            made.signal_supervisor(signal.SIGCONT)  # it may have been stopped
        await made.supervisor.stop()
        made.end()


@dataclass
class Callers:
    """Clients that come again and again, each time with a new connection; what became of them."""

    port: int
    answered: int = 0
    refused: int = 0
    broken: int = 0
    """Connections that were cut: those of a front that was killed while it served them."""

    async def come(self, path: str = "/x") -> None:
        """Call until cancelled."""
        head = f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode()
        while True:
            try:
                reader, writer = await asyncio.open_connection(LOCAL, self.port)
            except ConnectionRefusedError:
                self.refused += 1
                await asyncio.sleep(0.01)
                continue
            try:
                writer.write(head)
                response = await reader.read()
                self.answered += response.startswith(b"HTTP/1.1 2")
                self.broken += not response
            except ConnectionError:
                self.broken += 1
            finally:
                writer.close()


@asynccontextmanager
async def calling(port: int, count: int = 4) -> AsyncIterator[Callers]:
    """So many of them while the block runs."""
    callers = Callers(port)
    tasks = [asyncio.create_task(callers.come()) for _ in range(count)]
    try:
        yield callers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
