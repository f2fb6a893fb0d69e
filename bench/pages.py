"""Pages of pipelines: how much longer the page of a thousand jobs takes than that of one, and how large it is.

The application is asked in its own process, over SQLite, so that nothing else is measured.
"""

import asyncio
import gzip
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import httpx

from api.app import create_app
from api.services import Services
from api.startup import close_services, first_administrator, open_services
from auth.session_token import COOKIE, issue_session
from bench.options import Options
from bench.rows import Row, Side
from domain.config.compile import compile_config
from domain.config.context import Context
from domain.config.plan import Plan
from models.clock import system_clock
from models.repositories.accounts import accounts
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from settings import Settings

MAX_RATIO: Final = 40.0
"""The graph of a thousand jobs may take so many times as long as that of one."""
MAX_LIST_RATIO: Final = 10.0
"""A page of the list of 5,000 jobs may take so many times as long as one of 100: what jobs wait for is read of all."""
MAX_KIBIBYTES: Final = 150.0
"""KiB, compressed as pages are."""
_LEVEL: Final = 5
_VISITS: Final = 9
_PUSH: Final = Context(predefined={"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"})


def rows(options: Options) -> list[Row]:
    """Medians of visits that take turns."""
    return asyncio.run(measure(options.runs * _VISITS // 3))


async def measure(visits: int) -> list[Row]:
    """Draw the pages of pipelines of 1, 100, 1,000 and 5,000 jobs."""
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder) / 'perdure.db'}"
        settings = Settings(home=Path(folder) / "home", database_url=database)
        services = await open_services(settings, system_clock)
        try:
            return await _measured(services, visits)
        finally:
            await close_services(services)


async def _measured(services: Services, visits: int) -> list[Row]:
    made = {jobs: await _pipeline(services, jobs) for jobs in (1, 100, 1_000, 5_000)}
    session = issue_session(services.key, await _root(services), services.clock())
    transport = httpx.ASGITransport(create_app(services))
    address = services.settings.url
    async with httpx.AsyncClient(transport=transport, base_url=address, cookies={COOKIE: session}) as client:
        client.headers["Accept"] = "text/html"
        graphs = await _visited(client, visits, [made[1], made[1_000]])
        by_needs = await _visited(client, visits, [f"{made[1_000]}?view=needs"])
        lists = await _visited(client, visits, [f"{made[100]}/builds", f"{made[5_000]}/builds?page=50"])
        text = (await client.get(made[1_000])).content
    small, large = graphs
    return [
        Row("pages: graph of a pipeline of 1 job", small * 1e3, "ms"),
        Row("pages: graph of 1,000 jobs, by stage", large * 1e3, "ms"),
        Row("pages: graph of 1,000 jobs, by needs", by_needs[0] * 1e3, "ms"),
        Row("pages: graph of 1,000 jobs / of 1 job", large / small, "times", MAX_RATIO, Side.AT_MOST),
        Row(
            "pages: graph of 1,000 jobs, compressed",
            len(gzip.compress(text, _LEVEL)) / 1024,
            "KiB",
            MAX_KIBIBYTES,
            Side.AT_MOST,
        ),
        Row("pages: last page of the list of 5,000 jobs", lists[1] * 1e3, "ms"),
        Row("pages: list of 5,000 jobs / of 100 jobs", lists[1] / lists[0], "times", MAX_LIST_RATIO, Side.AT_MOST),
    ]


async def _visited(client: httpx.AsyncClient, visits: int, paths: Sequence[str]) -> list[float]:
    """The median seconds of each page, after a first visit that does not count."""
    took: dict[str, list[float]] = {path: [] for path in paths}
    for visit in range(visits + 1):
        for path in paths:
            begin = time.perf_counter()
            response = await client.get(path)
            assert response.status_code == httpx.codes.OK, response.text[:500]
            if visit:
                took[path].append(time.perf_counter() - begin)
    return [median(took[path]) for path in paths]


async def _root(services: Services) -> int:
    async with services.database.read() as connection:
        user = await accounts.by_username(connection, first_administrator(services.settings))
    assert user is not None
    return user.id


async def _pipeline(services: Services, jobs: int) -> str:
    """A pipeline of so many jobs in a project of its own: the path of its page."""
    now, root = services.clock(), await _root(services)
    plan = compile_config(layered(jobs), _PUSH)
    assert isinstance(plan, Plan)
    async with services.database.write() as connection:
        await namespaces.create(connection, f"of-{jobs}", "Jobs", now)
        owner = await namespaces.get_by(connection, path=f"of-{jobs}")
        project_id = await projects.create_project(connection, owner, "app", "App", root, now)
        wish = PipelineRequest(project_id, root, "main", "1" * 40, "push")
        pipeline_id = await pipelines.create(connection, wish, plan, now, seal=str)
    return f"/of-{jobs}/app/-/pipelines/{pipeline_id}"


def layered(jobs: int, stages: int = 10, needs: int = 3) -> str:
    """A configuration of so many jobs, of which each needs some of the stage before."""
    in_stage = max(1, jobs // stages)
    lines = [f"stages: [{', '.join(f's{stage}' for stage in range(stages))}]"]
    for number in range(jobs):
        stage = min(number // in_stage, stages - 1)
        first = (stage - 1) * in_stage
        names = {f"job-{first + (number * 7 + shift * 13) % in_stage}" for shift in range(needs)} if stage else set()
        lines.append(f"job-{number}: {{stage: s{stage}, script: x, needs: [{', '.join(sorted(names))}]}}")
    return "\n".join(lines) + "\n"
