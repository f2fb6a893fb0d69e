"""The page of runners and their queue: who sees what of it."""

import re

from sqlalchemy import update

from auth.permissions import DEVELOPER, MAINTAINER, REPORTER
from domain.runners.matching import RunnerType
from models.repositories.runners import runners
from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.pods.test_pod import add_runner
from tests.api.v4.runners.test_queue import LISTS, in_another_project
from tests.api.v4.site import Person, Site


async def see(site: Site, person: Person | None = None) -> str:
    """What is on the page as somebody sees it."""
    async with browser(site, person or site.root) as client:
        response = await client.get("/-/runners")
    assert response.status_code == 200, response.text
    return response.text.partition("<main")[2].partition("</main>")[0]


def figure(page: str, name: str) -> str:
    """One of the figures above."""
    found = re.search(rf">{name}</span><strong[^>]*>(.*?)</strong>", page)
    assert found is not None, page
    return re.sub("<[^>]*>", "", found[1])


async def test_the_queue_and_the_runners_are_shown_with_what_serves_them(site: Site) -> None:
    assert "Nothing waits" in await see(site)
    await site.world.request()
    await site.world.pipeline(LISTS)
    await site.world.job()
    paused = await add_runner(site, "gpu", EVIL, paused=True)
    page = await see(site)
    assert figure(page, "Waiting jobs") == "2"
    assert figure(page, "Oldest has waited").startswith("since ")
    assert "<script>alert" not in page
    assert f'<a class="tag" href="#runner-{site.world.runner_id}">' in page
    gpu = re.search(r'<tr id="queue-\w+">(?:(?!</tr>).)*<bdi>gpu</bdi>.*?</tr>', page, re.DOTALL)
    assert gpu is not None
    assert "No runner takes 1 of them" in gpu[0]
    assert "1 paused" in gpu[0]
    assert f'href="#runner-{paused}"' in gpu[0]
    row = re.search(rf'<tr id="runner-{site.world.runner_id}">.*?</tr>', page, re.DOTALL)
    assert row is not None
    assert "Online" in row[0]
    assert "busy" in row[0]
    other = re.search(rf'<tr id="runner-{paused}">.*?</tr>', page, re.DOTALL)
    assert other is not None
    assert "paused" in other[0]
    assert "Never heard of" in other[0]


async def test_who_runs_no_jobs_sees_no_queue_and_strangers_are_not_named(site: Site) -> None:
    await site.world.request()
    await site.world.pipeline(LISTS)
    await in_another_project(site, "hidden: {script: x, tags: [other-team]}\n")
    async with site.services.database.write() as connection:
        mine = runners.runner.c.id == site.world.runner_id
        await connection.execute(update(runners.runner).where(mine).values(runner_type=RunnerType.PROJECT))
        linked = {"runner_id": site.world.runner_id, "project_id": site.world.project_id}
        await connection.execute(runners.runner_project.insert().values(**linked))
    reporter, developer, maintainer = [
        await site.person(name, level) for name, level in (("rep", REPORTER), ("dev", DEVELOPER), ("mai", MAINTAINER))
    ]
    assert figure(await see(site), "Waiting jobs") == "4"
    assert figure(await see(site, reporter), "Waiting jobs") == "0"
    seen = await see(site, developer)
    assert figure(seen, "Waiting jobs") == "3"
    assert "other-team" not in seen
    assert "No runner that you may know of" in seen, "the only one is of a project, which maintainers see"
    assert "No runner that you may know of" not in await see(site, maintainer)


async def test_who_is_not_signed_in_is_asked_to(site: Site) -> None:
    async with browser(site, None) as client:
        response = await client.get("/-/runners")
    assert response.status_code == 401
    assert "Sign in" in response.text
