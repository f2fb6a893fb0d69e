"""Who takes part: an installation with jobs in every state, and what an attacker may hold of it."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlmodel import SQLModel

from auth.job_token import JobClaims
from models.repositories.namespaces import namespaces
from models.repositories.projects import projects
from settings import RateLimits, RefusalLimits
from tests.api.runner.world import TWO_JOBS
from tests.api.v4.site import Site, open_site
from tests.security.doors import Place

REGISTRY = "registry.example:5000"
COUNTED_NEVER = RateLimits(api_calls=0, anonymous_api_calls=0)
"""Thousands of tokens of one address are too many for a response; here each is looked at."""
TRIGGERED = '{workflow: {rules: [{if: $CI_PIPELINE_SOURCE == "pipeline"}]}, by-hand: {script: x, when: manual}}'
HELD_BACK_NEVER = RefusalLimits(refusal_pause=0)


@dataclass
class Cast:
    """The victim is a running job with one dependency; all other jobs are documents of runners too."""

    site: Site
    place: Place
    victim: dict[str, Any]
    claims: JobClaims
    neighbour: dict[str, Any]
    finished: dict[str, Any]
    retried: dict[str, Any]
    foreign: dict[str, Any]
    other_organisation: dict[str, Any]


async def _job(world: Any, config: str) -> dict[str, Any]:
    await world.pipeline(config)
    found: dict[str, Any] = await world.job()
    return found


async def _project(site: Site, *, organisation: str = "") -> Any:
    """A world around another private project, in an organisation of its own if it is named."""
    now = site.services.clock()
    async with site.services.database.write() as connection:
        own = await projects.find(connection, site.world.project_id)
        assert own is not None
        key = own.organisation_id
        if organisation:
            key = await namespaces.create(connection, organisation, "Other", now)
        owner = await namespaces.get_by(connection, key=key)
        made = await projects.create_project(connection, owner, "other", "Other", site.root.id, now)
    return replace(site.world, project_id=made)


@asynccontextmanager
async def cast_of(folder: Path, database_url: str) -> AsyncIterator[Cast]:
    """Everybody in place, with a log that is empty and a repository that is not."""
    settings = {"registry_url": REGISTRY, "refusals": HELD_BACK_NEVER, "rates": COUNTED_NEVER}
    async with open_site(folder, database_url, **settings) as site:
        await site.commit({"README": "hello\n", ".gitlab-ci.yml": TRIGGERED})
        world = site.world
        finished = await _job(world, "one: {script: a}\n")
        await world.put(finished, "success", b"")
        retried = await _job(world, "flaky: {script: a, retry: 1}\n")
        await world.put(retried, "failed", b"")
        for _ in ("the new attempt", "its offer"):
            await world.settle(retried["job_info"]["pipeline_id"])
        retried["again"] = await world.job()
        pipeline = await world.pipeline(TWO_JOBS)
        build = await world.job()
        assert (await world.upload(build, b"PK")).status_code == 201
        await world.put(build, "success", b"")
        await world.settle(pipeline)
        victim = await world.job()
        assert [item["id"] for item in victim["dependencies"]] == [build["id"]]
        namespace, _, name = (await site.path()).partition("/")
        neighbour = await _job(world, "near: {script: a}\n")
        foreign = await _job(await _project(site), "far: {script: a}\n")
        other_organisation = await _job(await _project(site, organisation="elsewhere"), "far: {script: a}\n")
        await site.services.contacts.flush()  # nothing of the runner is written later
        yield Cast(
            site,
            Place(victim["id"], build["id"], world.project_id, namespace, name, f"{namespace}/{name}"),
            victim,
            site.services.job_tokens.read(victim["token"]),
            neighbour=neighbour,
            finished=finished,
            retried=retried,
            foreign=foreign,
            other_organisation=other_organisation,
        )


async def tables(site: Site) -> dict[str, str]:
    """One number for each table, for all that it holds."""
    async with site.services.database.read() as connection:
        found = {}
        for table in SQLModel.metadata.sorted_tables:
            rows = (await connection.execute(select(table))).all()
            found[table.name] = hashlib.sha256(repr(sorted(map(repr, rows))).encode()).hexdigest()
    return found
