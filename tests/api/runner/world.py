"""A server without Temporal: its SQL and routes are real, and decisions are recorded as a workflow would."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import httpx
from sqlalchemy import select

from api.app import create_app
from api.services import Services
from api.startup import close_services, first_administrator, open_services
from application.pipelines.sealed_values import seal_of
from auth.secret_token import digest
from domain.messages import Command, Decision
from domain.pipelines.decisions import decide
from domain.runners.features import REQUIREMENTS
from models import job_offers
from models.clock import system_clock
from models.repositories.accounts import accounts
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import decisions, loading, pipelines
from models.repositories.pipelines.job_rows import job
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from models.repositories.runners import runners
from settings import Settings
from tests.compiling import plan_of
from tests.waiting import eventually

SHA = "5e1f0d0c0ffee0ddba11ca5cade5ba5eba11ad00"
RUNNER_TOKEN = "glrt-a-runner-of-tests"
TWO_JOBS = "build: {stage: build, script: make, artifacts: {paths: [out]}}\ncheck: {stage: test, script: make check}\n"

_names = count(1)


@dataclass
class World:
    """A project with a runner, and what a runner would send."""

    services: Services
    client: httpx.AsyncClient
    project_id: int
    user_id: int
    runner_id: int

    async def pipeline(self, config: str = TWO_JOBS, **request: Any) -> int:
        """A pipeline whose first jobs are pending."""
        wish = PipelineRequest(self.project_id, self.user_id, "main", SHA, "push", **request)
        async with self.services.database.write() as connection:
            pipeline_id = await pipelines.create(
                connection, wish, plan_of(config), self.services.clock(), seal=seal_of(self.services.sealer)
            )
        await self.settle(pipeline_id)
        return pipeline_id

    async def settle(self, pipeline_id: int, *commands: Command) -> Decision | None:
        """Decide and record once, as the workflow does."""
        now = self.services.clock()
        async with self.services.database.read() as connection:
            loaded = await loading.load(connection, pipeline_id)
        turn = decide(loaded.pipeline, loaded.verdicts, commands, now)
        if turn.decision is None:
            return None
        decision = replace(turn.decision, run=int(now.timestamp() * 1e6), tick=next(_names))
        async with self.services.database.write() as connection:
            await decisions.record(connection, decision, now)
        return decision

    async def offer(self, config: str) -> None:
        """A pipeline whose first jobs are pending, and every process is told of them."""
        await self.tell_of_jobs(await self.pipeline(config))

    async def tell_of_jobs(self, pipeline_id: int) -> None:
        """Tell of the jobs of a pipeline that wait, as whoever made them pending does."""
        async with self.services.database.read() as connection:
            jobs = await connection.execute(select(job.c.id).where(job.c.pipeline_id == pipeline_id))
            ids = jobs.scalars().all()
        await job_offers.tell(self.services.database, self.services.notifications, ids)

    async def held(self, polls: int, **body: Any) -> list["asyncio.Task[httpx.Response]"]:
        """So many polls that have looked in vain, and are held."""
        row = self.services.polls
        before = len(row._everybody())
        if "last_update" not in body:
            body["last_update"] = await self.old_ticket(body.get("token", RUNNER_TOKEN))
        asking = [asyncio.create_task(self.request(**body)) for _ in range(polls)]

        async def wait() -> bool:
            return len(row._everybody()) == before + polls and row._looks._reading is None

        await eventually(wait, f"{polls} polls are held")
        return asking

    async def old_ticket(self, token: str = RUNNER_TOKEN) -> str:
        """What makes a runner look once and then wait for long: a ticket of this process, and something happened."""
        ticket = await self.new_ticket(token)
        self.services.polls.version.changed()
        return ticket

    async def new_ticket(self, token: str = RUNNER_TOKEN) -> str:
        """What makes a runner wait for long without a look: nothing has happened since its last one."""
        known = await self.services.runners.by_hash(digest(token))
        assert known is not None
        return self.services.tickets.issue(known.row.id, self.services.polls.version.seen)

    async def request(
        self, token: str = RUNNER_TOKEN, headers: dict[str, str] | None = None, **body: Any
    ) -> httpx.Response:
        """Ask for a job."""
        features = {"features": {"cancel_gracefully": True, **dict.fromkeys(REQUIREMENTS, True)}}
        document = {"token": token, "system_id": "s_tests", "info": features, **body}
        return await self.client.post("/api/v4/jobs/request", json=document, headers=headers or {})

    async def job(self) -> dict[str, Any]:
        """Ask for a job and get one."""
        response = await self.request()
        assert response.status_code == 201, response.text
        document: dict[str, Any] = response.json()
        return document

    async def patch(self, job: dict[str, Any], start: int, content: bytes) -> httpx.Response:
        """Send a piece of log."""
        headers = {"JOB-TOKEN": job["token"], "Content-Range": f"{start}-{start + len(content) - 1}"}
        return await self.client.patch(f"/api/v4/jobs/{job['id']}/trace", content=content, headers=headers)

    async def put(self, job: dict[str, Any], state: str, log: bytes | None = None, **body: Any) -> httpx.Response:
        """Say what became of a job; with the checksum of `log` when it is given."""
        output = {} if log is None else {"checksum": f"crc32:{zlib.crc32(log):08x}", "bytesize": len(log)}
        document = {"token": job["token"], "state": state, "output": output, **body}
        return await self.client.put(f"/api/v4/jobs/{job['id']}", json=document)

    async def upload(self, job: dict[str, Any], content: bytes, **query: str) -> httpx.Response:
        """Hand in a file."""
        files = {"file": ("artifacts.zip", content, "application/octet-stream")}
        headers = {"JOB-TOKEN": job["token"]}
        return await self.client.post(f"/api/v4/jobs/{job['id']}/artifacts", files=files, headers=headers, params=query)

    async def row(self, job_id: int) -> Any:
        """The row of a job."""
        async with self.services.database.read() as connection:
            return (await connection.execute(select(job).where(job.c.id == job_id))).one()


@asynccontextmanager
async def opened_world(settings: Settings, **parts: Any) -> AsyncIterator[World]:
    """A world on services of its own; `parts` take the place of some of them."""
    services = replace(await open_services(settings, system_clock), **parts)
    transport = httpx.ASGITransport(create_app(services))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
            yield await make_world(services, client)
    finally:
        await close_services(services)


async def make_world(services: Services, client: httpx.AsyncClient) -> World:
    """Fill an empty database: root's project and an instance runner."""
    now = services.clock()
    async with services.database.write() as connection:
        user = await accounts.by_username(connection, first_administrator(services.settings))
        assert user is not None
        path = f"tests-{next(_names)}"
        await namespaces.create(connection, path, "Tests", now)
        owner = await namespaces.get_by(connection, path=path)
        project_id = await projects.create_project(connection, owner, "app", "App", user.id, now)
        runner_id = await runners.create(connection, digest(RUNNER_TOKEN), now, description="a runner of tests")
    return World(services, client, project_id, user.id, runner_id)
