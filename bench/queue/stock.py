"""What the queue is measured with: projects whose jobs wait to become pending, and runners, written as the API does.

No workflow knows of them: what starts one is held back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import func, select, update

from auth.secret_token import digest, plain_token
from bench.gen_ci_yaml import trivial
from domain.config.compile import compile_config
from domain.config.context import Context
from domain.config.plan import Plan
from domain.pipelines.status import Status
from domain.pods.token_prefixes import RUNNER
from models.clock import system_clock
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import job_rows, pipelines
from models.repositories.projects import projects
from models.repositories.runners import runners
from models.session import Database
from models.tables.outbox import Outbox
from models.tables.pipelines import Job

_PUSH: Final = Context(predefined={"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"})
_FOREIGN: Final = "of-no-job"
"""The tag of runners that match nothing."""

_job = table_of(Job)
_outbox = table_of(Outbox)


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is: projects, jobs of each, runners that may take them, and runners that may not."""

    projects: int = 0
    jobs: int = 0
    fitting: int = 0
    unfitting: int = 0


@dataclass(frozen=True, slots=True)
class Stock:
    """Ids of created jobs by project, tokens of instance runners that may take them, and of some that may not."""

    jobs: Sequence[Sequence[int]]
    fitting: Sequence[str]
    unfitting: Sequence[str]

    @property
    def all_jobs(self) -> list[int]:
        """The jobs of all projects, those of each together."""
        return [job_id for ids in self.jobs for job_id in ids]


async def make(database: Database, size: Size) -> Stock:
    """Fill an empty database."""
    now, name, path = system_clock(), "bench", "queue"
    plan = compile_config(trivial(max(size.jobs, 2)), _PUSH)
    assert isinstance(plan, Plan), "it includes nothing"
    async with database.write() as connection:
        user = await accounts.create_user(connection, name, name, f"{name}@example.com", now)
        await namespaces.create(connection, path, path, now)
        owner = await namespaces.get_by(connection, path=path)
    made = []
    for number in range(size.projects):
        async with database.write() as connection:
            project = await projects.create_project(connection, owner, f"p{number}", f"p{number}", user, now)
            request = pipelines.PipelineRequest(project, user, "main", "c0ffee", "push")
            pipeline = await pipelines.create(connection, request, plan, now, seal=str)
            wanted = select(_job.c.id).where(_job.c.pipeline_id == pipeline).order_by(_job.c.id)
            made.append((await connection.execute(wanted)).scalars().all())
            held = update(_outbox).where(_outbox.c.pipeline_id == pipeline)
            await connection.execute(held.values(not_before=now + timedelta(days=1)))
    return Stock(made, await _runners(database, size.fitting), await _runners(database, size.unfitting, _FOREIGN))


async def _runners(database: Database, number: int, *tags: str) -> list[str]:
    tokens = [plain_token(RUNNER) for _ in range(number)]
    async with database.write() as connection:
        for token in tokens:
            await runners.create(connection, digest(token), system_clock(), tags=list(tags), run_untagged=not tags)
    return tokens


async def make_pending(database: Database, ids: Sequence[int]) -> None:
    """Put jobs into the queue without telling anybody."""
    async with database.write() as connection:
        for start in range(0, len(ids), 500):
            await job_rows.set_status(connection, ids[start : start + 500], Status.PENDING, system_clock())


async def handed_out(database: Database, ids: Sequence[int]) -> dict[int, int]:
    """How many of these jobs were handed out how many times and are running now."""
    counted = (
        select(_job.c.hand_out, func.count())
        .where(_job.c.id.between(min(ids), max(ids)), _job.c.status == Status.RUNNING)
        .group_by(_job.c.hand_out)
    )
    async with database.read() as connection:
        return dict((await connection.execute(counted)).tuples().all())
