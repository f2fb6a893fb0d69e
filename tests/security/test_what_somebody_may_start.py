"""Whatever somebody asks for, at every door that there is: what runs then has their rights, and what opens, no more.

Nor does it come to an environment that is protected from them.

The doors are walked, none is named: a new one is held to this as soon as it is there.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from api.app import create_framework
from models.columns import table_of
from models.repositories.accounts import members
from models.repositories.accounts.accounts import access_token, user
from models.tables.environments import Deployment, Environment
from models.tables.pipelines import Job, Pipeline
from models.tables.projects import Member
from tests.api.v4.site import Person, Site, open_site
from tests.permissions.routes import every_route
from tests.security.request_bodies import bodies
from tests.security.test_hostile_addresses import filled

pytestmark = pytest.mark.slow

CONFIG = """
stages: [first, later]
fails: {stage: first, script: x}
gate: {stage: first, script: x, when: manual}
guarded: {stage: first, script: x, when: manual, environment: guarded}
deploy: {stage: later, script: x, environment: {name: live, on_stop: stop}}
stop: {stage: later, script: x, when: manual, environment: {name: live, action: stop}}
"""
LEVELS = {"guest": 10, "reporter": 20, "developer": 30, "maintainer": 40, "owner": 50}
MAINTAINER = LEVELS["maintainer"]
LAST = ("DELETE", "archive", "/block")
"""What takes away what other doors need comes last."""
FIELDS = {
    "ref": "main",
    "branch": "new-branch",
    "source_branch": "feature",
    "target_branch": "main",
    "tag_name": "v1",
    "access_level": 50,
    "scopes": ["api"],
    "cron": "0 1 * * *",
    "cron_timezone": "UTC",
    "environment": "guarded",
    "sha": "main",
    "status": "success",
    "external_url": "https://example.com",
    "target_url": "https://example.com",
    "released_at": "2026-01-01T00:00:00Z",
    "state": "success",
    "maximum_timeout": 3600,
    "actions": [{"action": "create", "file_path": "b", "content": "b"}],
}
"""Values that mean something, where the schema does not say which do."""
LEFT_OUT = {"start_branch", "start_sha", "start_project", "last_commit_id", "from_step"}
NEEDED = {"jobs/play", "jobs/retry", "pipelines/retry", "projects/pipeline", "repository/branches", "projects/releases"}
"""Doors by which developers start something, or this test has not seen it."""

job, pipeline, member = table_of(Job), table_of(Pipeline), table_of(Member)
environment, deployment = table_of(Environment), table_of(Deployment)


@dataclass
class Seen:
    """Whose each job and pipeline is, whose each token, and the level of each member, by their ids."""

    jobs: dict[int, int]
    pipelines: dict[int, int]
    tokens: dict[int, int]
    levels: dict[tuple[int, int], int]


async def seen(site: Site) -> Seen:
    """What is stored now."""
    async with site.services.database.read() as connection:
        jobs = (await connection.execute(select(job.c.id, job.c.user_id))).all()
        pipelines = (await connection.execute(select(pipeline.c.id, pipeline.c.user_id))).all()
        tokens = (await connection.execute(select(access_token.c.id, access_token.c.user_id))).all()
        levels = (await connection.execute(select(member.c.project_id, member.c.user_id, member.c.access_level))).all()
    return Seen(
        {row.id: row.user_id for row in jobs},
        {row.id: row.user_id for row in pipelines},
        {row.id: row.user_id for row in tokens},
        {(row.project_id, row.user_id): row.access_level for row in levels},
    )


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """A project of the administrator's with something for every door. SQL has no say in it: one database does."""
    async with open_site(tmp_path, sqlite_url) as opened:
        await opened.commit({".gitlab-ci.yml": CONFIG, "a": "a"})
        opened.connect_temporal()
        base = f"/api/v4/projects/{opened.world.project_id}"
        async with opened.client(opened.root) as client:
            pipeline_id = await opened.world.pipeline(CONFIG)
            await opened.world.put(await opened.world.job(), "failed")
            await opened.world.settle(pipeline_id)
            await client.delete(f"{base}/protected_branches/main")
            nightly = {"description": "nightly", "ref": "main", "cron": "0 1 * * *", "active": True}
            assert (await client.post(f"{base}/pipeline_schedules", json=nightly)).status_code == 201
            await client.post(f"{base}/repository/branches", params={"branch": "feature", "ref": "main"})
            rule = {"name": "guarded", "deploy_access_levels": [{"access_level": MAINTAINER}]}
            assert (await client.post(f"{base}/protected_environments", json=rule)).status_code == 201
            bot = {"name": "bot", "scopes": ["api"], "access_level": 50, "expires_at": _ends(opened)}
            assert (await client.post(f"{base}/access_tokens", json=bot)).status_code == 201
        yield opened


async def doors(site: Site) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, address and body of every call that is no read."""
    made = {
        (method.upper(), route): {name: FIELDS.get(name, body[name]) for name in body if name not in LEFT_OUT}
        for method, route, body, _ in bodies(create_framework(site.services).openapi())
    }
    async with site.services.database.read() as connection:
        names = {row.name: row.id for row in (await connection.execute(select(job.c.id, job.c.name))).all()}
    found, token_id = [], max((await seen(site)).tokens)
    for method, route in every_route(site.services):
        if method in {"GET", "HEAD"} or route.endswith(("/jobs/request", "upload-pack", "receive-pack")):
            continue
        job_id = names["gate" if route.endswith("/play") else "fails"]
        which = {"job_id": job_id, "token_id": token_id, "branch": "feature"}
        address = filled(route, site, {name: str(value) for name, value in which.items()})
        found.append((method, address, {**made.get((method, route), {}), "expires_at": _ends(site)}))
    return sorted(found, key=lambda door: (any(word in door[0] + door[1] for word in LAST), door[1]))


def _ends(site: Site) -> str:
    return str(site.services.clock().date() + timedelta(days=9))


async def excess(site: Site, caller: Person, level: int, before: Seen, after: Seen) -> list[str]:
    """What a call has started or opened that has more rights than its caller."""
    found = [f"job {key} is user {after.jobs[key]}'s" for key in _moved(before.jobs, after.jobs, caller.id)]
    found += [f"pipeline {key}" for key in _moved(before.pipelines, after.pipelines, caller.id)]
    for key in _moved(before.tokens, after.tokens, caller.id):
        async with site.services.database.read() as connection:
            of_token = await members.level_in_project(connection, site.world.project_id, after.tokens[key])
        if of_token > level:
            found.append(f"token {key} of level {of_token}")
    here = site.world.project_id
    risen = {key: new for key, new in after.levels.items() if new > before.levels.get(key, 0) and key[0] == here}
    return found + [f"member {key[1]} of level {new}" for key, new in risen.items() if new > level]


def _moved(before: dict[int, int], after: dict[int, int], caller_id: int) -> list[int]:
    return [key for key, owner in after.items() if before.get(key) != owner and owner != caller_id]


async def doors_of_protected_job(site: Site) -> list[tuple[str, str, dict[str, Any]]]:
    """Those that start a job whose environment is protected for maintainers."""
    async with site.services.database.read() as connection:
        guarded = (await connection.execute(select(func.min(job.c.id)).where(job.c.name == "guarded"))).scalar_one()
    address = f"/api/v4/projects/{site.world.project_id}/jobs/{guarded}"
    return [("POST", f"{address}/{verb}", {}) for verb in ("play", "retry")]


async def deployed_by(site: Site, caller: Person) -> set[int]:
    """Jobs of somebody, and deployments that they reported, that have come to a protected environment."""
    mine = (job.c.user_id == caller.id) & job.c.status.in_(["pending", "running", "success"])
    jobs = select(job.c.id).join(environment, environment.c.id == job.c.environment_id)
    reports = select(deployment.c.id).join(environment, environment.c.id == deployment.c.environment_id)
    reported = (deployment.c.user_id == caller.id) & deployment.c.job_id.is_(None)
    async with site.services.database.read() as connection:
        found = await connection.execute(jobs.where(mine, environment.c.name == "guarded"))
        told = await connection.execute(reports.where(reported, environment.c.name == "guarded"))
        return {*found.scalars(), *told.scalars()}


@pytest.mark.parametrize("role", LEVELS)
async def test_nothing_that_somebody_starts_has_more_rights_than_they(site: Site, role: str) -> None:
    caller, level = await site.person(role, LEVELS[role]), LEVELS[role]
    started: set[str] = set()
    deployed: set[int] = set()
    async with site.client(caller) as client:
        for method, address, body in [*await doors_of_protected_job(site), *await doors(site)]:
            before = await seen(site)
            await client.request(method, address, json=body)
            after = await seen(site)
            assert await excess(site, caller, level, before, after) == [], (method, address)
            deployed |= await deployed_by(site, caller)
            assert level >= MAINTAINER or not deployed, (method, address)
            if after.jobs != before.jobs or after.pipelines != before.pipelines:
                words = [word for word in address.split("/") if not word.isdigit()]
                started.add("/".join(words[-2:]))
            if after.tokens != before.tokens:
                started.add("token")
    assert (started >= NEEDED) == (level >= LEVELS["developer"]), started
    assert bool(deployed) == (level >= MAINTAINER)
    assert "token" in started
    async with site.services.database.read() as connection:
        assert (await connection.execute(select(user.c.is_admin).where(user.c.id == caller.id))).scalar_one() is False
