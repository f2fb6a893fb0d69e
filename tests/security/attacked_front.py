"""Good runners while somebody attacks a real front before a real API.

What their calls take is compared with what they took just before, in the median of several windows. As a program,
`python -m tests.security.attacked_front`, it prints the figures of each front and attack, a line of JSON each.

Source: docs/reference/reliability.md, "Slow and flooding clients".
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import httpx

from rigs.ports import LOCAL, free_port
from settings import Settings
from tests.api.runner.world import RUNNER_TOKEN, opened_world
from tests.deploy.front import front as nginx
from tests.pods.test_front_streaming import front_process
from tests.program import Program, environment
from tests.program import running as running_program
from tests.server import Server
from tests.waiting import HANGS, eventually

RUNNERS = 4
PAUSE = 0.02
WINDOW = 1.5
WINDOWS = 3
WARM = {"trickling": 5.0, "held": 5.0, "guessing": 3.0, "flooding": 3.0}
"""Seconds until each attack is at its height."""
ATTACK = {kind: warm + WINDOWS * WINDOW + 0.5 for kind, warm in WARM.items()} | {"trickling": 14.5}
"""Seconds of each attack. The front lets slow senders go after ten."""


@dataclass
class Good:
    """Runners that poll, and one that has a job and sends pieces of its log; `size` is how much of it there is.

    `seconds` are those of each call, `wrong` is what else was answered.
    """

    job: dict[str, object]
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    size: int = 0

    async def play(self, url: str) -> None:
        """Call the front at `url` until cancelled."""
        async with aiohttp.ClientSession(url, timeout=aiohttp.ClientTimeout(total=30)) as session:
            await asyncio.gather(self._log(session), *(self._poll(session, number) for number in range(RUNNERS)))

    async def _poll(self, session: aiohttp.ClientSession, number: int) -> None:
        body = {"token": RUNNER_TOKEN, "system_id": f"s_good_{number}"}
        while True:
            await self._call(session, "POST", "/api/v4/jobs/request", 204, json=body)

    async def _log(self, session: aiohttp.ClientSession) -> None:
        piece, path = b"a line of a log\n", f"/api/v4/jobs/{self.job['id']}/trace"
        headers = {"JOB-TOKEN": str(self.job["token"]), "Content-Range": "0-0"}
        if self.size:  # where an earlier runner's log ends it may not have heard
            async with session.patch(path, data=b"a", headers=headers) as response:
                self.size = int(response.headers["Range"].removeprefix("0-"))
        while True:
            place = f"{self.size}-{self.size + len(piece) - 1}"
            headers = {"JOB-TOKEN": str(self.job["token"]), "Content-Range": place}
            await self._call(session, "PATCH", path, 202, data=piece, headers=headers)
            self.size += len(piece)

    async def _call(self, session: aiohttp.ClientSession, method: str, path: str, status: int, **more: Any) -> None:
        begun = time.monotonic()
        try:
            async with session.request(method, path, **more) as response:
                if response.status != status:
                    self.wrong.append(f"{method} {response.status} {await response.text()}")
        except (aiohttp.ClientError, TimeoutError) as error:
            self.wrong.append(f"{method} {error!r}")
        self.seconds.append(time.monotonic() - begun)
        await asyncio.sleep(PAUSE)

    async def p99(self) -> float:
        """The median of the p99 of each window."""
        found = []
        for _ in range(WINDOWS):
            self.seconds.clear()
            await asyncio.sleep(WINDOW)
            found.append(statistics.quantiles(self.seconds, n=100)[98])
        return statistics.median(found)


@asynccontextmanager
async def api_with_a_job(folder: Path, **settings: Any) -> AsyncIterator[Server]:
    """A server without Temporal whose database has one job that waits for a runner. `settings`: those of `Server`."""
    async with opened_world(Settings(home=folder / "home")) as world:
        await world.pipeline("build: {script: make}\n")
    server = Server(folder, f"{LOCAL}:{free_port()}", api_role="api", log_level="ERROR", **settings)
    async with running_program(server.program):
        async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:

            async def answers() -> bool:
                try:
                    return (await client.get(f"{server.url}/-/health")).status_code == 200
                except httpx.TransportError:
                    return False

            await eventually(answers, "the API answers", 60)
        yield server


async def good_runners(api: Server) -> Good:
    """Good runners, one of which has that job."""
    async with httpx.AsyncClient(base_url=api.url, trust_env=False, timeout=HANGS) as client:
        response = await client.post("/api/v4/jobs/request", json={"token": RUNNER_TOKEN, "system_id": "s_good"})
    assert response.status_code == 201, response.text
    return Good(response.json())


@asynccontextmanager
async def _embedded(folder: Path, server: Server) -> AsyncIterator[int]:
    settings = Settings(front_port=free_port(), api_port=server.port)
    async with front_process(settings):
        yield settings.front_port


@asynccontextmanager
async def _production(folder: Path, server: Server) -> AsyncIterator[int]:
    async with nginx(folder, f"{LOCAL}:{server.port}") as address:
        yield int(address.rpartition(":")[2])


FRONTS = {"embedded": _embedded, "nginx": _production}


@dataclass(frozen=True)
class Attack:
    """What became of an attack: p99 of the good runners before and meanwhile (seconds), and what the attacker saw.

    `statuses`: what it was answered how often.
    """

    idle: float
    attacked: float
    statuses: dict[str, int]
    refused: int
    lives: dict[str, list[float]]


async def attack(port: int, good: Good, kind: str, folder: Path) -> Attack:
    """Attack the front at `port` while good runners go on."""
    playing = asyncio.create_task(good.play(f"http://{LOCAL}:{port}"))
    try:
        await asyncio.sleep(0.5)
        idle = await good.p99()
        command = [sys.executable, "-m", "tests.security.attack", kind, str(port), str(ATTACK[kind]), RUNNER_TOKEN]
        async with running_program(Program(command, folder / "attack.log", env=environment())) as attacker:
            await asyncio.sleep(WARM[kind])
            attacked = await good.p99()
            assert await attacker.wait(60) == 0
            outcome: dict[str, Any] = json.loads(attacker.output())
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
    return Attack(idle, attacked, outcome["statuses"], outcome["refused"], outcome["lives"])


async def _print_all() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with api_with_a_job(Path(folder)) as api:
            good = await good_runners(api)
            for front, running in FRONTS.items():
                for kind in WARM:
                    place = Path(folder) / f"{front}-{kind}"
                    place.mkdir()
                    async with running(place, api) as port:
                        took = await attack(port, good, kind, place)
                    figures = {"front": front, "kind": kind, "idle": took.idle, "attacked": took.attacked}
                    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    asyncio.run(_print_all())
