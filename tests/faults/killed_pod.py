"""A pod whose server kills itself where a test says, and is started again at once; runners speak to it by its front."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Row, text

from domain.pipelines.status import COMPLETE
from models.session import Database
from pods.front import serving
from rigs.ports import LOCAL, free_port
from settings import FrontLimits, Settings
from storage.objects import ObjectStore
from tests import invariants
from tests.faults.kill_points import KillPoint
from tests.faults.killed_server import ARMED, DIED, Trap
from tests.faults.stock_runner import Acknowledged, StockRunner
from tests.git.serving import git
from tests.project import Project
from tests.server import Server
from tests.temporal import new_namespace
from tests.waiting import eventually

TIMES: dict[str, Any] = {
    "lease_tick": 0.5,
    "hand_out_window": 3,
    "runner_lost": 5,
    "outage_bonus_min": 2,
    "outage_bonus_max": 2,
    "long_poll": 1,
    "queue_rescan": 0.5,
    "reconcile_every": 2,
    "outbox_not_found": 2,
}

CONFIG = """
stages: [build, test]
.life: {tags: [$TAG], rules: [{if: '$STORY == "life"'}]}
build: {extends: .life, stage: build, script: make, artifacts: {paths: [out], reports: {junit: junit.xml}}}
check: {extends: .life, stage: test, script: make check}
.two: {tags: [$TAG], rules: [{if: '$STORY == "two"'}]}
one: {extends: .two, stage: test, script: 'true'}
two: {extends: .two, stage: test, script: 'true'}
pushed:
  stage: test
  script: 'true'
  rules: [{if: '$CI_COMMIT_MESSAGE =~ /^Add / && $CI_PIPELINE_SOURCE == "push"', when: manual, allow_failure: true}]
"""

_PATIENCE = 90.0


class KilledPod:
    """One installation and its front."""

    def __init__(self, folder: Path, temporal: str, **settings: object) -> None:
        """`folder` takes everything; `temporal` is `host:port`."""
        self.folder = folder
        folder.mkdir()
        front_port = free_port()
        url = f"http://{LOCAL}:{front_port}"
        self._trap = Trap(folder / "armed.json")
        self.server = Server(
            folder / "server",
            temporal,
            module="tests.faults.killed_server",
            variables={ARMED: str(folder / "armed.json")},
            **{"external_url": url, **TIMES, **settings},
        )
        quick = FrontLimits(retry_poll=0, retry_put=0, retry_upload=0)
        self._front = Settings(front_port=front_port, api_port=self.server.port, external_url=url, front=quick)
        self._url = url
        self.database = Database(str(settings.get("database_url") or f"sqlite:///{self.server.home / 'perdure.db'}"))

    @asynccontextmanager
    async def running(self) -> AsyncIterator["KilledPod"]:
        """From the first start, with a project, to the end."""
        async with AsyncExitStack() as open_things:
            await open_things.enter_async_context(serving(self._front))
            open_things.push_async_callback(self.database.close)
            open_things.push_async_callback(self.server.stop)
            await self.server.start()
            self.client = await open_things.enter_async_context(self.server.client(self._url))
            self.store = ObjectStore.open((self.server.home.resolve() / "objects").as_uri())
            tree = self.folder / "tree"
            tree.mkdir()
            self.project = await Project.create(self.client, "killed", tree, {".gitlab-ci.yml": CONFIG})
            await git("push", "-q", "-o", "ci.no_pipeline", "origin", "main", cwd=tree)
            yield self

    @asynccontextmanager
    async def dying_at(self, point: KillPoint) -> AsyncIterator[None]:
        """Die at this point within the block, and come back; fails if the point was not reached."""
        if not self.server.program.running:  # the test before this one may have left it so
            await self.server.start()
        expected = self._deaths() + sum(step.fatal for step in point.steps)

        async def is_back() -> bool:
            return not self._trap.armed() and self._deaths() >= expected

        self._trap.arm(*point.steps)
        try:
            yield
            await eventually(is_back, f"the server has come to {point.steps}", _PATIENCE)
            await self.server.ready()
        except BaseException:
            sys.stderr.write(f"--- server ---\n{self.server.program.output()[-8000:]}\n")
            raise
        finally:
            self._trap.disarm()
        assert self._deaths() == expected

    def _deaths(self) -> int:
        return self.server.program.output().count(DIED)

    def runner(self, said: Acknowledged, token: str = "") -> StockRunner:
        """A runner; without a token it has to be registered."""
        return StockRunner(self.client, said, token)

    async def register(self, said: Acknowledged, tag: str) -> StockRunner:
        """A runner for jobs with this tag."""
        runner = self.runner(said)
        await runner.register(self.server.credentials["registration_token"], tag)
        return runner

    async def trigger(self, said: Acknowledged, story: str, tag: str) -> int:
        """A new pipeline; its id."""
        variables = [{"key": "STORY", "value": story}, {"key": "TAG", "value": tag}]
        path = f"/projects/{self.project.id}/pipeline"
        response = await self.runner(said).call("POST", path, json={"ref": "main", "variables": variables})
        assert response.status_code == httpx.codes.CREATED, response.text
        said.pipelines.append(response.json()["id"])
        return said.pipelines[-1]

    async def rows(self, query: str, **values: object) -> list[Row[Any]]:
        """The rows of a query."""
        async with self.database.read() as connection:
            return list((await connection.execute(text(query), values)).all())

    async def write(self, statement: str, **values: object) -> None:
        """Change something behind the server's back."""
        async with self.database.write() as connection:
            await connection.execute(text(statement), values)

    async def is_over(self) -> bool:
        """Whether every pipeline is complete, Temporal knows it, and every log is an object."""
        statuses = {row.status for row in await self.rows("SELECT status FROM pipeline")}
        (left,) = await self.rows(
            "SELECT (SELECT count(*) FROM outbox) AS bells, (SELECT count(*) FROM trace WHERE NOT stored) AS logs"
        )
        return statuses <= COMPLETE and not left.bells and not left.logs

    async def over(self) -> None:
        """Wait for that; an error shows what is left."""
        try:
            await eventually(self.is_over, "every pipeline is over", _PATIENCE)
        except TimeoutError as error:
            jobs = await self.rows("SELECT id, name, status, hand_out, folded FROM job WHERE NOT folded")
            bells = await self.rows("SELECT kind, job_id, attempts, error FROM outbox")
            logs = await self.rows("SELECT * FROM trace WHERE NOT stored")
            raise TimeoutError(f"{error}\n{jobs}\n{bells}\n{logs}") from error
        await invariants.hold(self.database)


@asynccontextmanager
async def killed_pod(folder: Path, temporal: str, **settings: object) -> AsyncIterator[KilledPod]:
    """A pod with a namespace of its own."""
    namespace = await new_namespace(temporal)
    async with KilledPod(folder, temporal, temporal_namespace=namespace, **settings).running() as pod:
        yield pod
