"""`perdure job log -f` over the death of the server process, while the log grows."""

import asyncio
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rigs.ports import LOCAL, free_port
from tests.api.v4.site import Site, open_site
from tests.cli.remote.shell import Shell
from tests.program import Program, environment
from tests.waiting import HANGS, eventually


class OwnProcess:
    """The real server as a process of its own, on the database and the files of a site; it needs no Temporal."""

    def __init__(self, site: Site, folder: Path) -> None:
        """Choose a port."""
        port = free_port()
        self.url = f"http://{LOCAL}:{port}"
        settings: dict[str, Any] = {
            "home": site.services.settings.home,
            "database_url": site.services.settings.database,
            "host": LOCAL,
            "api_port": port,
            "external_url": self.url,
            "temporal_address": "127.0.0.1:1",
            "api_role": "api",
        }
        names = {f"PERDURE_{name.upper()}": str(value) for name, value in settings.items()}
        self.program = Program([sys.executable, "-m", "worker"], folder / "server.log", env=environment(**names))

    async def start(self) -> None:
        """Return when it answers."""
        await self.program.start()
        async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
            await eventually(lambda: self._answers(client), "the server answers", 60)

    async def _answers(self, client: httpx.AsyncClient) -> bool:
        assert self.program.running, self.program.output()
        try:
            return (await client.get(f"{self.url}/-/health")).is_success
        except httpx.TransportError:
            return False


class Runner:
    """Sends the log of one job to a server."""

    def __init__(self, url: str, job: dict[str, Any]) -> None:
        """Of a job that was handed out."""
        self._client = httpx.AsyncClient(trust_env=False, timeout=HANGS)
        self._address = f"{url}/api/v4/jobs/{job['id']}"
        self._token = job["token"]
        self.sent = b""

    async def send(self, content: bytes) -> None:
        """The next piece."""
        place = f"{len(self.sent)}-{len(self.sent) + len(content) - 1}"
        headers = {"JOB-TOKEN": self._token, "Content-Range": place}
        response = await self._client.patch(f"{self._address}/trace", content=content, headers=headers)
        assert response.status_code == 202, response.text
        self.sent += content

    async def end(self) -> None:
        """The job has succeeded."""
        output = {"checksum": f"crc32:{zlib.crc32(self.sent):08x}", "bytesize": len(self.sent)}
        response = await self._client.put(
            self._address, json={"token": self._token, "state": "success", "output": output}
        )
        assert response.status_code == 200, response.text

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()


@asynccontextmanager
async def started(site: Site, folder: Path) -> AsyncIterator[OwnProcess]:
    """A server process, from answering to ended."""
    server = OwnProcess(site, folder)
    try:
        await server.start()
        yield server
    finally:
        await server.program.kill()


async def read_until(process: asyncio.subprocess.Process, words: bytes) -> bytes:
    """What a command writes up to these words."""
    assert process.stdout is not None
    return await asyncio.wait_for(process.stdout.readuntil(words), 30)


@pytest.mark.slow
async def test_no_byte_is_lost_or_printed_twice(tmp_path: Path, sqlite_url: str, nobody: Shell) -> None:
    async with open_site(tmp_path, sqlite_url) as site, started(site, tmp_path) as server:
        await site.world.pipeline("build: {script: x}\n")
        job = await site.world.job()
        assert (await nobody("login", server.url, "--token", site.root.token)).code == 0
        page = f"{server.url}/{await site.path()}/-/jobs/{job['id']}"
        runner = Runner(server.url, job)
        await runner.send("grün 0\n".encode())
        process = await nobody.start("job", "log", "-f", page)
        printed = await read_until(process, b" 0\n")
        for number in range(1, 3):
            await server.program.kill()
            await server.start()
            # In pieces that cut a character apart
            line = f"grün {number}\n".encode()
            await runner.send(line[:3])
            await runner.send(line[3:])
            printed += await read_until(process, f" {number}\n".encode())
        await server.program.kill()
        await server.start()
        await runner.send(b"last\n")
        await runner.end()
        out, err = await asyncio.wait_for(process.communicate(), 60)
        await runner.close()
    assert process.returncode == 0, err
    assert printed + out == runner.sent
    assert b"The server is back" in err
