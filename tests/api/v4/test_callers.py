"""Whoever asks for a job is its user, at every door: nobody runs with the rights of who made the pipeline."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from auth.session_token import COOKIE, issue_session
from domain.messages import Operation, PipelineFacts
from models.columns import table_of
from models.repositories.projects import protected_refs
from models.tables.outbox import OperationCaller
from models.tables.pipelines import Job
from tests.api.v4.environments.test_environments import address, deployed, the_environment
from tests.api.v4.site import Person, Site

DEVELOPER = 30
CONFIG = """
stages: [first, later]
fails: {stage: first, script: x}
gate: {stage: first, script: x, when: manual}
after: {stage: later, script: x}
"""
REST = "/api/v4/projects/{project}"
PAGE = "/{path}/-"
DOORS = [
    (REST + "/jobs/{gate}/play", {"gate", "after"}),
    (REST + "/jobs/{fails}/retry", {"fails", "after"}),
    (REST + "/pipelines/{pipeline}/retry", {"fails", "after"}),
    (PAGE + "/jobs/{gate}/play", {"gate", "after"}),
    (PAGE + "/jobs/{fails}/retry", {"fails", "after"}),
    (PAGE + "/pipelines/{pipeline}/retry", {"fails", "after"}),
]
"""Where somebody lets jobs run, and the jobs whose user they become."""

job, operation_caller = table_of(Job), table_of(OperationCaller)


async def rows(site: Site, table: Any) -> list[Any]:
    async with site.services.database.read() as connection:
        return list((await connection.execute(select(table).order_by(*table.primary_key))).all())


def client_of(site: Site, person: Person, door: str) -> httpx.AsyncClient:
    """Somebody with a token, or with a session on one of our pages."""
    if door.startswith(REST):
        return site.client(person)
    cookies = {COOKIE: issue_session(site.services.key, person.id, site.services.clock())}
    return site.client(headers={"Accept": "text/html", "Origin": site.services.settings.url}, cookies=cookies)


async def unprotect(site: Site) -> None:
    """Let developers run jobs of `main`."""
    async with site.services.database.write() as connection:
        row = await protected_refs.get(connection, site.world.project_id, "main", is_tag=False)
        await protected_refs.remove(connection, [row.id], is_tag=False)


async def failed_pipeline(site: Site) -> dict[str, Any]:
    """A pipeline of root with a job that failed, one that waits for a person, and one that was ruled out."""
    await unprotect(site)
    pipeline_id = await site.world.pipeline(CONFIG)
    await site.world.put(await site.world.job(), "failed")
    await site.world.settle(pipeline_id)
    names = {row.name: row.id for row in await rows(site, job)}
    return {"project": site.world.project_id, "path": await site.path(), "pipeline": pipeline_id, **names}


@pytest.mark.parametrize("is_away", [False, True], ids=["answered", "temporal is away"])
@pytest.mark.parametrize(("door", "theirs"), DOORS, ids=[door for door, _ in DOORS])
async def test_who_asks_becomes_the_user(site: Site, door: str, theirs: set[str], is_away: bool) -> None:
    bob = await site.person("bob", DEVELOPER)
    way = door.format(**await failed_pipeline(site))
    if not is_away:
        site.connect_temporal()
    async with client_of(site, bob, door) as client:
        response = await client.post(way)
    assert response.status_code in {200, 201, 202, 303}, response.text
    if is_away:
        assert [row.user_id for row in await rows(site, operation_caller)] == [bob.id], "it waits with the command"
        return
    latest = {row.name: row for row in await rows(site, job) if not row.retried}
    assert {name for name, row in latest.items() if row.user_id == bob.id} == theirs
    assert not any(row.unknown_caller for row in latest.values())


async def test_a_played_job_shows_who_has_played_it(site: Site) -> None:
    bob = await site.person("bob", DEVELOPER)
    known = await failed_pipeline(site)
    site.connect_temporal()
    async with site.client(bob) as client:
        played = (await client.post(f"/api/v4/projects/{known['project']}/jobs/{known['gate']}/play")).json()
    assert (played["name"], played["user"]["username"]) == ("gate", "bob")


async def test_a_job_that_somebody_unknown_has_started_says_so(site: Site) -> None:
    known = await failed_pipeline(site)
    site.connect_temporal()
    facts = PipelineFacts(known["pipeline"], "", "", "", "", "", "")
    clockwork: Any = site.services.temporal.pipelines
    await clockwork.ask(facts, "play_job", Operation("by hand", known["gate"]), timedelta())
    async with site.client(site.root) as client:
        page = (await client.get(f"/{known['path']}/-/jobs/{known['gate']}", headers={"Accept": "text/html"})).text
        why = (await client.get(f"/api/v4/projects/{known['project']}/jobs/{known['gate']}/why")).json()
        other = (await client.get(f"/api/v4/projects/{known['project']}/jobs/{known['fails']}/why")).json()
    assert "started by hand in Temporal" in page
    assert (why["unknown_caller"], other["unknown_caller"]) == (True, False)


async def test_stopping_an_environment_asks_what_playing_its_stop_job_asks(site: Site) -> None:
    bob = await site.person("bob", DEVELOPER)
    async with site.client(site.root) as client:
        await deployed(site, client)
    environment = await the_environment(site)
    way = address(site, f"/environments/{environment.id}/stop")
    async with site.client(bob) as client:
        refused = await client.post(way)
    assert refused.status_code == 403, refused.text
    assert "main is a protected branch" in refused.json()["message"]
    assert (await the_environment(site)).state == "available"
    await unprotect(site)
    async with site.client(bob) as client:
        stopping = await client.post(way)
    assert (stopping.status_code, stopping.json()["state"]) == (200, "stopping")
    (asked,) = await rows(site, operation_caller)
    assert (asked.name, asked.user_id) == ("play_job", bob.id)
