"""What brings jobs into the situations of `test_why.py`: a configuration, runners, people, time that has passed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import update

from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories import database_time
from models.repositories.pipelines import resource_groups, verdicts
from models.repositories.pipelines.job_rows import job
from models.repositories.queue import contacts, leases
from models.repositories.queue.contacts import Contact
from models.repositories.runners import runners
from models.tables.queue import Lease
from tests.api.runner.world import RUNNER_TOKEN
from tests.api.v4.site import Site

lease = table_of(Lease)


@dataclass
class Play:
    """A project in which things happen. `ids` are those of jobs, runners and pipelines by the names that are given."""

    site: Site
    ids: dict[str, Any] = field(default_factory=dict)
    _held: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def begin(self, config: str, name: str = "pipeline", **body: Any) -> None:
        """A pipeline of this configuration, by REST; its jobs have their names as ids."""
        if "pipeline" not in self.ids:
            await self.site.commit({".gitlab-ci.yml": config})
        async with self.site.client(self.site.root) as client:
            made = await client.post(f"{self.home}/pipeline", json={"ref": "main", **body})
        assert made.status_code == 201, made.text
        self.ids[name] = made.json()["id"]
        await self.go_on(name)

    async def go_on(self, name: str = "pipeline") -> None:
        """Let everything follow that follows, as the workflow does."""
        while await self.site.world.settle(self.ids[name]) is not None:
            pass
        suffix = "" if name == "pipeline" else f"@{name}"
        async with self.site.services.database.read() as connection:
            rows = await connection.execute(
                job.select().where(job.c.pipeline_id == self.ids[name], ~job.c.retried).order_by(job.c.id)
            )
            self.ids |= {f"{row.name}{suffix}": row.id for row in rows}

    @property
    def home(self) -> str:
        """The project's address."""
        return f"/api/v4/projects/{self.site.world.project_id}"

    async def hear_of(self, runner_id: int) -> None:
        """A call of a runner."""
        async with self.site.services.database.write() as connection:
            now = await database_time.moment(connection)
            await contacts.write(connection, [Contact(runner_id, "s_1", {"version": "18"}, "")], now)

    async def runner(self, name: str, *tags: str, online: bool = True, **values: Any) -> None:
        """A new runner."""
        async with self.site.services.database.write() as connection:
            now = await database_time.moment(connection)
            values = {"tags": list(tags), "description": name, **values}
            self.ids[name] = await runners.create(connection, f"hash of {name}", now, **values)
        if online:
            await self.hear_of(self.ids[name])

    async def change_runner(self, **values: Any) -> None:
        """Write columns of the runner that is there from the beginning, which has called."""
        self.ids["shared"] = self.site.world.runner_id
        await self.hear_of(self.site.world.runner_id)
        async with self.site.services.database.write() as connection:
            await runners.change(connection, self.site.world.runner_id, **values)

    async def call(self, method: str, path: str, **body: Any) -> None:
        """A call of the administrator below the project."""
        async with self.site.client(self.site.root) as client:
            response = await client.request(method, f"{self.home}{path}", json=body)
        assert response.status_code < 300, response.text

    async def take(self, name: str) -> dict[str, Any]:
        """The runner takes this job; others that it gets first it keeps."""
        while name not in self._held:
            response = await self.site.world.request(token=RUNNER_TOKEN)
            assert response.status_code == 201, response.text
            document = response.json()
            self._held[document["job_info"]["name"]] = document
        return self._held[name]

    async def end(self, name: str, state: str = "success", *, then: str = "pipeline", **body: Any) -> None:
        """The runner takes a job and says how it ended."""
        document = await self.take(name)
        del self._held[name]
        assert (await self.site.world.put(document, state, **body)).status_code == 200
        await self.go_on(then)

    async def next_of_group(self, name: str) -> None:
        """A job gets the slot of its resource group, as the group's workflow gives it."""
        async with self.site.services.database.write() as connection:
            assert await resource_groups.take(connection, [self.ids[name]]) == (self.ids[name],)
        await self.go_on()

    async def give_up(self, name: str, reason: str) -> None:
        """The server ends a job, as what looks after leases and the queue does."""
        async with self.site.services.database.write() as connection:
            ended = await verdicts.end_jobs(
                connection, [self.ids[name]], Status.FAILED, self.site.services.clock(), reason=reason
            )
        assert ended
        await self.go_on()

    async def wait(self, name: str, **ago: float) -> None:
        """So long ago this job came into the queue."""
        since = self.site.services.clock() - timedelta(**ago)
        async with self.site.services.database.write() as connection:
            await connection.execute(update(job).where(job.c.id == self.ids[name]).values(queued_at=since))

    async def silence(self) -> None:
        """Nobody who holds a job has called for long."""
        async with self.site.services.database.write() as connection:
            await leases.tick(connection, 0.0)
            await connection.execute(update(lease).values(contact=-1_000, since=-1_000, taken_up=True))


Steps = Callable[[Play], Awaitable[None]]


@dataclass(frozen=True)
class Situation:
    """Of `job` in a pipeline of `config`, after `steps`, people read `says`, and what to do is `next_step`.

    Between braces stand ids. `reason` is how programs know it.
    """

    name: str
    config: str
    job: str
    reason: str
    says: str
    next_step: str = ""
    steps: Steps | None = None
    before: Steps | None = None
    absent: bool = False
    given: dict[str, Any] = field(default_factory=dict)
