"""Good runners while somebody attacks the front (reference: reliability, D1 and D2): a real front, a real API.

Their p99 is compared with what it was just before, in the median of several windows; nobody is refused a connection.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import httpx
import pytest

from api.app import create_app
from api.startup import close_services, open_services
from models.clock import system_clock
from settings import Settings
from tests.api.runner.world import RUNNER_TOKEN, make_world
from tests.deploy.front import front as nginx
from tests.pods.test_front_streaming import front_process
from tests.ports import LOCAL, free_port
from tests.program import Program, environment
from tests.program import running as running_program
from tests.server import Server
from tests.waiting import eventually

pytestmark = pytest.mark.slow

RUNNERS = 4
PAUSE = 0.02
WINDOW = 3.0
WINDOWS = 4
WARM = 6.0
"""Seconds until an attack is at its height."""
ATTACK = WARM + WINDOWS * WINDOW + 2.0
UNNOTICED = 0.1
"""Seconds of p99 below which a ratio says more of the test machine than of the front."""
BARS = {"trickling": 1.0}
"""Seconds of p99 that are borne for other reasons: the reference's own figure for slow senders."""
LONGEST_LIFE = 15.0


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
            async with session.patch(path, data=b"a", headers=headers) as answer:
                self.size = int(answer.headers["Range"].removeprefix("0-"))
        while True:
            place = f"{self.size}-{self.size + len(piece) - 1}"
            headers = {"JOB-TOKEN": str(self.job["token"]), "Content-Range": place}
            await self._call(session, "PATCH", path, 202, data=piece, headers=headers)
            self.size += len(piece)

    async def _call(self, session: aiohttp.ClientSession, method: str, path: str, status: int, **more: object) -> None:
        begun = time.monotonic()
        try:
            async with session.request(method, path, **more) as answer:  # type: ignore[arg-type]
                if answer.status != status:
                    self.wrong.append(f"{method} {answer.status} {await answer.text()}")
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


@pytest.fixture(scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A server without Temporal whose database has one job that waits for a runner."""
    folder = tmp_path_factory.mktemp("api")
    services = await open_services(Settings(home=folder / "home"), system_clock)
    try:
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
            world = await make_world(services, client)
            await world.pipeline("build: {script: make}\n")
    finally:
        await close_services(services)
    server = Server(folder, f"{LOCAL}:{free_port()}", api_role="api", log_level="ERROR")
    async with running_program(server.program):
        async with httpx.AsyncClient(trust_env=False) as client:

            async def answers() -> bool:
                try:
                    return (await client.get(f"{server.url}/-/health")).status_code == 200
                except httpx.TransportError:
                    return False

            await eventually(answers, "the API answers", 60)
        yield server


@pytest.fixture(scope="module")
async def good(api: Server) -> Good:
    """Good runners, one of which has that job."""
    async with httpx.AsyncClient(base_url=api.url, trust_env=False) as client:
        answer = await client.post("/api/v4/jobs/request", json={"token": RUNNER_TOKEN, "system_id": "s_good"})
    assert answer.status_code == 201, answer.text
    return Good(answer.json())


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


@pytest.fixture(params=FRONTS)
async def port(request: pytest.FixtureRequest, api: Server, tmp_path: Path) -> AsyncIterator[int]:
    async with FRONTS[request.param](tmp_path, api) as found:
        yield found


@pytest.mark.parametrize("kind", ["trickling", "held", "guessing", "flooding"])
async def test_good_runners_do_not_notice(port: int, good: Good, kind: str, tmp_path: Path) -> None:
    playing = asyncio.create_task(good.play(f"http://{LOCAL}:{port}"))
    try:
        await asyncio.sleep(1)
        idle = await good.p99()
        attack = [sys.executable, "-m", "tests.security.attack", kind, str(port), str(ATTACK), RUNNER_TOKEN]
        async with running_program(Program(attack, tmp_path / "attack.log", env=environment())) as attacker:
            await asyncio.sleep(WARM)
            attacked = await good.p99()
            assert await attacker.wait(60) == 0
            outcome = json.loads(attacker.output())
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
    lives = outcome["lives"]
    print(
        f"{kind}: idle p99 {idle * 1e3:.1f} ms, attacked {attacked * 1e3:.1f} ms, ratio {attacked / idle:.2f}; "
        f"{outcome['statuses']}, {len(lives)} cut, longest life {max(lives, default=0):.1f} s"
    )
    assert good.wrong == []
    assert outcome["refused"] == 0
    assert attacked < max(2 * idle, BARS.get(kind, UNNOTICED))
    CHECKS[kind](outcome)


def _are_cut(outcome: dict[str, list[float]]) -> None:
    assert len(outcome["lives"]) >= 1_000
    assert max(outcome["lives"]) <= LONGEST_LIFE


def _are_refused(outcome: dict[str, dict[str, int]]) -> None:
    """Runners sleep after 403, but come again after 429: a bad token is 403 whatever happens."""
    assert set(outcome["statuses"]) == {"403"}


def _wait(outcome: dict[str, dict[str, int]]) -> None:
    assert set(outcome["statuses"]) <= {"204"}


def _flooded(outcome: dict[str, dict[str, int]]) -> None:
    assert {"431"} <= set(outcome["statuses"]) <= {"431", "400", "200", "404"}


CHECKS = {"trickling": _are_cut, "guessing": _are_refused, "held": _wait, "flooding": _flooded}
