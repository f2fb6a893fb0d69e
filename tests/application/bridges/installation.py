"""An installation with several projects, where the test is every runner and carries out bridges when it likes."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from sqlalchemy import delete, update

from application.pipelines.creation import create_pipeline
from application.pipelines.sealed_values import opened_variables
from domain.messages import Command
from domain.pipelines.status import Status
from loops.bridges import BridgeLoop
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import outbox
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from models.rows.outbox import UnsentRow
from tests.api.v4.site import Site, open_site
from tests.git.serving import git, new_work_tree
from tests.models.world import job, outbox_table, pipeline
from tests.workflows.pod_parts import RealTime


@dataclass
class Installation:
    """`site` has the project whose pipelines trigger others; `world` plays workflows and runners by SQL."""

    site: Site
    world: RealTime
    loop: BridgeLoop
    folder: Path

    async def project(self, name: str, files: dict[str, str]) -> int:
        """Another private project of the same organisation with these files."""
        services = self.site.services
        async with services.database.write() as connection:
            mine = await projects.find(connection, self.site.world.project_id)
            assert mine is not None
            owner = await namespaces.get_by(connection, key=mine.organisation_id)
            made = await projects.create_project(
                connection, owner, name, name.title(), mine.creator_id, services.clock()
            )
        await self.commit(made, files)
        return made

    async def path(self, project_id: int) -> str:
        """Full path of a project."""
        async with self.site.services.database.read() as connection:
            row = await projects.find(connection, project_id)
        assert row is not None
        return str(row.full_path)

    async def commit(self, project_id: int, files: dict[str, str]) -> str:
        """Fill a project's repository; the sha of its `main`."""
        repositories = self.site.services.repositories
        await repositories.create(project_id, "main")
        tree = self.folder / f"tree-{project_id}"
        sha = await new_work_tree(tree, {name: dedent(text) for name, text in files.items()})
        await git("push", "-q", repositories.path(project_id), "main", cwd=tree)
        return sha

    async def create(self, files: dict[str, str], **request: Any) -> int:
        """Commit these files to the first project and make a pipeline; nothing is decided about it yet."""
        project_id = self.site.world.project_id
        sha = await self.commit(project_id, files)
        values: dict[str, Any] = {"user_id": self.world.user_id, "source": "push", **request}
        wish = PipelineRequest(project_id=project_id, ref="main", sha=sha, **values)
        return await create_pipeline(self.site.services, wish, self.site.services.repositories.get(project_id))

    async def begin(self, files: dict[str, str], **request: Any) -> int:
        """A pipeline whose first jobs are pending, its bridges carried out."""
        made = await self.create(files, **request)
        await self.world.settle(made)
        await self.carry_out()
        return made

    async def begin_again(self, pipeline_id: int, **request: Any) -> int:
        """Another pipeline of the same commit, its bridges carried out."""
        row = await self.world.row(pipeline, id=pipeline_id)
        values: dict[str, Any] = {"user_id": row.user_id, "source": "api", **request}
        wish = PipelineRequest(project_id=row.project_id, ref=row.ref, sha=row.sha, **values)
        repository = self.site.services.repositories.get(row.project_id)
        made = await create_pipeline(self.site.services, wish, repository)
        await self.world.settle(made)
        await self.carry_out()
        return made

    async def unsent(self) -> Sequence[UnsentRow]:
        """What is to be carried out of bridges."""
        async with self.world.database.read() as connection:
            return await outbox.unsent(connection, self.site.services.clock(), 100, outbox.TO_BRIDGES)

    async def carry_out(self) -> None:
        """Carry out bridges, obey what was asked of pipelines, and decide, until nothing is left to do."""
        while True:
            done = await self.loop.carry_out_due()
            done += await self.obey()
            for row in await self.world.rows(pipeline):
                if await self.world.decision(row.id):
                    await self.world.settle(row.id)
                    done += 1
            if not done:
                return

    async def obey(self) -> int:
        """What the outbox asks of pipelines is done, as their workflows would; gives back how much there was."""
        rows = await self.world.rows(outbox_table, kind=outbox.COMMAND)
        for row in rows:
            payload = row.payload
            command = Command(payload["name"], payload["key"], row.job_id, {}, payload.get("reason", ""))
            await self.world.settle(row.pipeline_id, command)
            async with self.world.database.write() as connection:
                await connection.execute(delete(outbox_table).where(outbox_table.c.id == row.id))
        return len(rows)

    async def run(self, name: str, status: Status = Status.SUCCESS) -> int:
        """Take the next job, which must have that name, and end it."""
        job_id = await self.world.take()
        row = await self.job(job_id)
        assert row.name == name
        await self.world.end(job_id, status, reason="script_failure" if status is Status.FAILED else "")
        await self.carry_out()
        return job_id

    async def ask(self, pipeline_id: int, name: str, job_id: int | None = None) -> None:
        """Ask a pipeline for an operation, and carry out what follows."""
        await self.ask_only(pipeline_id, name, job_id)
        await self.carry_out()

    async def ask_only(self, pipeline_id: int, name: str, job_id: int | None = None) -> None:
        """Ask a pipeline for an operation."""
        await self.world.settle(pipeline_id, Command(name, f"{name}-{self.world.now()}", job_id))

    async def due_now(self) -> None:
        """Outbox rows that wait for another try need not."""
        async with self.world.database.write() as connection:
            await connection.execute(update(outbox_table).values(not_before=self.world.now()))

    async def set_message(self, pipeline_id: int, message: str) -> None:
        """Let the commit of a pipeline be one with another message, on a branch of its own."""
        row = await self.world.row(pipeline, id=pipeline_id)
        tree = self.folder / f"tree-{row.project_id}"
        await git("commit", "-q", "--allow-empty", "-m", message, cwd=tree)
        sha = await git("rev-parse", "HEAD", cwd=tree)
        await git("push", "-q", self.site.services.repositories.path(row.project_id), "main", cwd=tree)
        async with self.world.database.write() as connection:
            await connection.execute(update(pipeline).where(pipeline.c.id == pipeline_id).values(sha=sha))

    async def job(self, job_id: int) -> Any:
        """A job by id."""
        return await self.world.row(job, id=job_id)

    async def named(self, pipeline_id: int, name: str) -> Any:
        """The latest attempt of a job."""
        return await self.world.row(job, pipeline_id=pipeline_id, name=name, retried=False)

    async def downstream(self, pipeline_id: int, name: str) -> Any:
        """The downstream pipeline of a bridge."""
        return await self.world.row(pipeline, id=(await self.named(pipeline_id, name)).downstream_id)

    def given(self, row: Any) -> list[dict[str, Any]]:
        """The variables that a pipeline was given."""
        return opened_variables(self.site.services.sealer, row.variables)


@asynccontextmanager
async def open_installation(folder: Path, database_url: str = "", **more: Any) -> AsyncIterator[Installation]:
    """An installation in `folder`, with `more` settings."""
    async with open_site(folder, database_url, **more) as site:
        ids = site.world
        world = RealTime(site.services.database, ids.project_id, ids.user_id, ids.runner_id)
        yield Installation(site, world, BridgeLoop(site.services), folder)
