"""A runner whose jobs run as the server's own user: who says so, and whose jobs it gets."""

import asyncio
import html
import re
from typing import Any

import pytest

from auth.permissions import DEVELOPER, MAINTAINER, OWNER
from models.repositories.installation.audit import event
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Person, Site
from tests.waiting import HANGS, eventually

ONE = "one: {script: x}\n"
BUTTON = "Let this project's jobs run as the server's user"
ALONE = {"as_server": True}


@pytest.fixture
async def alone(site: Site) -> Site:
    """The one account is an administrator's, the one runner is the server's user."""
    async with site.client(site.root) as client:
        response = await client.put(f"/api/v4/runners/{site.world.runner_id}", json=ALONE)
    assert (response.status_code, response.json()["as_server"]) == (200, True)
    return site


def home(site: Site) -> str:
    """Route of the project."""
    return f"/api/v4/projects/{site.world.project_id}"


async def made(site: Site) -> int:
    """Somebody is given an account, as an administrator does it."""
    body = {"username": "bob", "name": "Bob", "email": "bob@example.com"}
    async with site.client(site.root) as client:
        response = await client.post("/api/v4/users", json=body)
    assert response.status_code == 201, response.text
    return int(response.json()["id"])


async def offered_in_vain(site: Site) -> None:
    """A job is pending, and the process has seen that the poll that is held may not have it."""
    await site.world.offer(ONE)

    async def is_known() -> bool:
        return bool(site.services.polls._demands)

    await eventually(is_known, "the process knows what the job asks for")
    assert await site.polls(1)


async def page(site: Site, path: str, person: Person | None) -> str:
    """A page as somebody sees it, without the tags of HTML."""
    async with browser(site, person) as client:
        response = await client.get(path)
    assert response.status_code == 200
    return html.unescape(re.sub(r"<[^>]+>", "", response.text))


async def test_only_administrators_say_that_a_runner_is_the_servers_user(site: Site) -> None:
    wish: dict[str, Any] = {"runner_type": "project_type", "project_id": site.world.project_id}
    async with site.client(await site.person("owner", OWNER)) as client:
        refused = await client.post("/api/v4/user/runners", json={**wish, "as_server": True})
        own = (await client.post("/api/v4/user/runners", json=wish)).json()["id"]
        changed = await client.put(f"/api/v4/runners/{own}", json={"as_server": False, "description": "mine"})
        kept = (await client.get(f"/api/v4/runners/{own}")).json()
    async with site.client(site.root) as client:
        told = (await client.post("/api/v4/user/runners", json={**wish, "as_server": True})).json()["id"]
        both = [(await client.get(f"/api/v4/runners/{one}")).json()["as_server"] for one in (own, told)]
        left = (await client.put(f"/api/v4/runners/{told}", json={"description": "ours"})).json()["as_server"]
    for response in (refused, changed):
        assert (response.status_code, "only an administrator" in response.text) == (403, True)
    assert (kept["description"], "as_server" in kept) == ("", False)
    assert (both, left) == ([False, True], True)


async def test_only_administrators_let_a_projects_jobs_run_as_the_server(site: Site) -> None:
    async with site.client(await site.person("owner", OWNER)) as client:
        refused = await client.put(home(site), json={"may_run_as_server": True, "description": "new"})
        kept = (await client.get(home(site))).json()
    async with site.client(site.root) as client:
        given = await client.put(home(site), json={"may_run_as_server": True})
        fork = (await client.post("/api/v4/groups", json={"name": "other", "path": "other"})).json()["id"]
        await site.commit({"a": "a"})
        copied = await client.post(f"{home(site)}/fork", json={"namespace_id": fork})
        taken = await client.put(home(site), json={"may_run_as_server": False})
    assert (refused.status_code, "only an administrator" in refused.text) == (403, True)
    assert (kept["may_run_as_server"], kept["description"]) == (False, None)
    assert given.json()["may_run_as_server"] is True
    assert (copied.status_code, copied.json()["may_run_as_server"]) == (201, False)
    assert taken.json()["may_run_as_server"] is False
    async with site.services.database.read() as connection:
        noted = (await connection.execute(event.select().where(event.c.event == "project_changed"))).all()
    assert [row.details["may_run_as_server"] for row in noted] == [True, False]


async def test_from_the_first_other_account_on_jobs_wait_for_an_administrator(alone: Site) -> None:
    await alone.world.pipeline("one: {script: x}\ntwo: {script: x}\n")
    assert (await alone.world.request()).status_code == 201
    await made(alone)
    assert (await alone.world.request()).status_code == 204


async def test_a_held_poll_gets_the_job_as_soon_as_its_project_is_allowed(alone: Site) -> None:
    await made(alone)
    (asking,) = await alone.world.held(1)
    await offered_in_vain(alone)
    async with alone.client(alone.root) as client:
        await client.put(home(alone), json={"may_run_as_server": True})
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201


async def test_a_held_poll_gets_the_job_as_soon_as_all_are_administrators(alone: Site) -> None:
    bob = await made(alone)
    (asking,) = await alone.world.held(1)
    await offered_in_vain(alone)
    async with alone.client(alone.root) as client:
        await client.put(f"/api/v4/users/{bob}", json={"admin": True})
    assert (await asyncio.wait_for(asking, HANGS)).status_code == 201


async def test_a_held_poll_does_not_get_a_job_of_the_account_that_came_meanwhile(alone: Site) -> None:
    (asking,) = await alone.world.held(1)
    await made(alone)
    await alone.world.offer(ONE)
    assert (await alone.world.request()).status_code == 204
    assert not asking.done()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def test_why_says_who_can_let_the_job_run(alone: Site) -> None:
    await alone.world.request()
    await made(alone)
    pipeline = await alone.world.pipeline(ONE)
    path = await alone.path()
    says = (
        "The built-in runner runs jobs as the server's user, and there are accounts of other people: an administrator "
        f"allows this project with `perdure runner allow {path}` or on the job's page."
    )
    async with alone.client(alone.root) as client:
        (job,) = (await client.get(f"{home(alone)}/pipelines/{pipeline}/why")).json()["jobs"]
        one = (await client.get(f"{home(alone)}/jobs/{job['id']}/why")).json()
        assert (job["stuck_reason"], one["stuck_reason"]) == (says, says)
        await client.put(home(alone), json={"may_run_as_server": True})
        assert (await client.get(f"{home(alone)}/jobs/{job['id']}/why")).json()["stuck_reason"] is None


async def test_an_administrator_allows_the_project_with_one_click(alone: Site) -> None:
    await alone.world.request()
    maintainer = await alone.person("maint", MAINTAINER)
    await alone.world.pipeline(ONE)
    async with alone.client(alone.root) as client:
        (job,) = (await client.get(f"{home(alone)}/jobs")).json()
    path = f"/{await alone.path()}/-/jobs/{job['id']}"
    seen = await page(alone, path, maintainer)
    assert (BUTTON in seen, "an administrator allows this project" in seen) == (False, True)
    assert BUTTON in await page(alone, path, alone.root)
    ours = {"Origin": alone.services.settings.url}
    for person, headers, status in (
        (None, ours, 404),
        (maintainer, ours, 403),
        (alone.root, {"Origin": "http://elsewhere.example"}, 403),
        (alone.root, ours, 303),
    ):
        assert (await alone.world.request()).status_code == 204
        async with browser(alone, person, **headers) as client:
            response = await client.post(f"{path}/allow")
        assert response.status_code == status, (person, headers)
    assert response.headers["location"] == path
    assert BUTTON not in await page(alone, path, alone.root)
    assert (await alone.world.request()).status_code == 201


async def test_a_job_that_waits_for_something_else_has_no_such_button(alone: Site) -> None:
    await alone.world.request()
    await made(alone)
    await alone.world.pipeline("one: {script: x, tags: [gpu]}\n")
    async with alone.client(alone.root) as client:
        (job,) = (await client.get(f"{home(alone)}/jobs")).json()
    assert BUTTON not in await page(alone, f"/{await alone.path()}/-/jobs/{job['id']}", alone.root)


async def test_the_first_page_tells_administrators_what_the_runner_may_do(alone: Site) -> None:
    before = await page(alone, "/", alone.root)
    developer = await alone.person("dev", DEVELOPER)
    after = await page(alone, "/", alone.root)
    assert "takes everybody's jobs while all accounts are administrators'" in before
    assert "only jobs of projects that an administrator allowed with perdure runner allow PROJECT" in after
    assert "as the server's user" not in await page(alone, "/", developer)
