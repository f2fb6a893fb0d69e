"""Pages of environments: what is on them, what comes, what was, and what their buttons do."""

import re
from typing import Any

import pytest

from domain.messages import Command
from models.repositories.environments.environments import environment
from tests import forms
from tests.api.pages.environments.deploying import Deploying
from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.site import Site

MAINTAINER, DEVELOPER, REPORTER, GUEST = 40, 30, 20, 10


@pytest.fixture
async def here(site: Site) -> Deploying:
    """The project, before anything was deployed."""
    found = Deploying(site)
    await found.begin()
    return found


async def test_the_list_shows_what_is_deployed_and_what_waits(here: Deploying) -> None:
    assert "No environment here" in (await here.see()).text
    pipeline_id = await here.pipeline()
    sha = (await here.deployments())[0]["sha"]
    page = (await here.see()).text
    assert "<bdi>review/</bdi></a>" in page
    assert re.search(r'href="https://main.example.com/" rel="noopener noreferrer nofollow" target="_blank"', page)
    assert f"<code>{sha[:8]}</code>" in page
    assert "Stops by itself at" in page
    assert "Deploy again" in page
    assert "Nothing has been deployed to it." not in page
    assert re.search(r"Waits for somebody</span> *<a class=\"chip manual\"", page)
    assert 'data-question="Really ship it?"' in page
    names = await here.environments()
    folder = (await here.see("/folders/review")).text
    assert ("review/main" in folder, "production" in folder.partition("<main")[2]) == (True, False)
    assert "production" in (await here.see("?search=prod")).text
    assert "No environment is called so" in (await here.see("?search=nothing")).text
    assert "None is stopped" in (await here.see("?scope=stopped")).text
    production = (await here.see(f"/{names['production']['id']}")).text
    assert "Waits for somebody" in production
    assert "Deployed now" not in production
    assert pipeline_id


async def test_a_deployment_is_made_again_and_taken_back_by_its_job(here: Deploying) -> None:
    first = await here.pipeline()
    older = (await here.deployments())[0]
    await here.commit()
    second = await here.pipeline()
    review = (await here.environments())["review/main"]["id"]
    page = (await here.see(f"/{review}")).text
    newer = next(one for one in await here.deployments() if one["deployable"]["pipeline"]["id"] == second)
    assert re.search(rf'<tr id="deployment-{newer["id"]}" aria-current="true">', page)
    question = f"Roll review/main back to {older['sha'][:8]} (main)? Job review of that deployment runs once more."
    assert f'data-question="{question}"' in page
    back = await here.push(f"/{review}/deployments/{older['id']}/run")
    assert (back.status_code, back.headers["location"]) == (303, f"/{await here.site.path()}/-/environments/{review}")
    job = await here.finish(first)
    assert job != older["deployable"]["id"]
    now = (await here.call("GET", f"/environments/{review}"))["last_deployment"]
    assert (now["sha"], now["deployable"]["id"]) == (older["sha"], job)
    again = await here.push(f"/{review}/deployments/{older['id']}/run")
    assert again.status_code == 409, "its job has run again: the newer deployment has the button"
    assert (await here.push(f"/{review}/deployments/{now['id']}/run")).status_code == 303
    await here.finish(first)
    shown = [one["status"] for one in await here.deployments() if one["environment"]["name"] == "review/main"]
    assert shown == ["success"] * 4


async def test_what_waits_for_somebody_is_deployed_by_its_button(here: Deploying) -> None:
    pipeline_id = await here.pipeline()
    production = (await here.environments())["production"]["id"]
    page = (await here.see(f"/{production}")).text
    (address,) = re.findall(r'action="([^"]*/-/jobs/\d+/play)"', page)
    origin = {"Origin": here.site.services.settings.url, **forms.TOKEN}
    async with browser(here.site, here.site.root, **origin) as client:
        asked = await client.post(address)
        assert (asked.status_code, "Really ship it?" in asked.text) == (200, True), "a browser without scripts is asked"
        assert (await client.post(address, data={"confirmed": "yes"})).status_code == 303
    await here.finish(pipeline_id)
    assert "Deployed now" in (await here.see(f"/{production}")).text


async def test_a_failed_deployment_is_told_and_tried_again(here: Deploying) -> None:
    pipeline_id = await here.pipeline(deploy="failed")
    page = (await here.see()).text
    assert re.search(r"Last tried</span> *<a class=\"chip failed\"", page)
    review = (await here.environments())["review/main"]["id"]
    (failed,) = await here.deployments()
    assert "Try again" in page
    assert (await here.push(f"/{review}/deployments/{failed['id']}/run")).status_code == 303
    await here.finish(pipeline_id)
    assert "Deployed now" in (await here.see(f"/{review}")).text


async def test_an_environment_is_stopped_by_its_job_and_deleted(here: Deploying) -> None:
    pipeline_id = await here.pipeline()
    review = (await here.environments())["review/main"]["id"]
    page = (await here.see(f"/{review}")).text
    assert 'data-question="Stop review/main? The stop job of its last deployment runs."' in page
    assert "Let it stay" in page
    assert (await here.push(f"/{review}/cancel_auto_stop")).status_code == 303
    assert (await here.environments())["review/main"]["auto_stop_at"] is None
    assert (await here.push(f"/{review}/delete")).status_code == 403, "it is not stopped"
    assert (await here.push(f"/{review}/stop")).status_code == 303
    assert "Its stop job is on its way" in (await here.see(f"/{review}")).text
    jobs = await here.call("GET", f"/pipelines/{pipeline_id}/jobs")
    (stop,) = [job["id"] for job in jobs if job["name"] == "stop"]
    await here.site.world.settle(pipeline_id, Command("play_job", "stop", stop))
    assert await here.finish(pipeline_id) == stop
    assert "review/main" in (await here.see("?scope=stopped")).text
    gone = await here.push(f"/{review}/delete")
    assert (gone.status_code, gone.headers["location"].endswith("?scope=stopped")) == (303, True)
    assert (await here.see(f"/{review}")).status_code == 404


async def test_a_protected_environment_says_who_may_deploy_and_has_no_buttons_for_others(here: Deploying) -> None:
    rule: dict[str, Any] = {"name": "review/main", "deploy_access_levels": [{"access_level": 40}]}
    await here.call("POST", "/protected_environments", **rule)
    await here.pipeline()
    review = (await here.environments())["review/main"]["id"]
    deployment = (await here.deployments())[0]["id"]
    developer = await here.site.person("dev", DEVELOPER)
    page = (await here.see(f"/{review}", developer)).text
    assert "You may not deploy here: environment review/main is protected: by a rule of the project, only" in page
    assert "<button" not in page.partition("<main")[2].partition("</main>")[0]
    for button in ("stop", "cancel_auto_stop", f"deployments/{deployment}/run"):
        assert (await here.push(f"/{review}/{button}", developer)).status_code == 403, button
    assert "<button" in (await here.see(f"/{review}")).text.partition("<main")[2].partition("</main>")[0]


async def test_who_may_only_read_pushes_nothing_and_strangers_see_nothing(here: Deploying) -> None:
    await here.pipeline()
    review = (await here.environments())["review/main"]["id"]
    deployment = (await here.deployments())[0]["id"]
    reporter, guest = await here.site.person("rep", REPORTER), await here.site.person("gus", GUEST)
    for place in ("", f"/{review}"):
        page = (await here.see(place, reporter)).text.partition("<main")[2].partition("</main>")[0]
        assert "review/main" in page
        assert 'method="post"' not in page
        assert (await here.see(place, guest)).status_code == 403
    for button in ("stop", "cancel_auto_stop", "delete", f"deployments/{deployment}/run"):
        assert (await here.push(f"/{review}/{button}", reporter)).status_code == 403, button
    address = f"/{await here.site.path()}/-/environments/{review}"
    async with browser(here.site, None) as client:
        assert (await client.get(address)).status_code == 404
    async with browser(here.site, here.site.root, Origin="https://evil.example", **forms.TOKEN) as client:
        assert (await client.post(f"{address}/stop")).status_code == 403


async def test_reported_deployments_and_foreign_text_are_shown_without_buttons_or_links(here: Deploying) -> None:
    report: dict[str, Any] = {"environment": "outside", "sha": "main", "ref": "main", "tag": False, "status": "success"}
    made = await here.call("POST", "/deployments", **report)
    other = (await here.environments())["outside"]["id"]
    page = (await here.see(f"/{other}")).text
    assert "reported by hand" in page
    assert "/run" not in page.partition("<main")[2]
    assert (await here.push(f"/{other}/deployments/{made['id']}/run")).status_code == 400
    async with here.site.services.database.write() as connection:
        values = {"external_url": "javascript:alert(1)", "name": EVIL}
        await connection.execute(environment.update().where(environment.c.id == other).values(**values))
    for place in ("", f"/{other}"):
        text = (await here.see(place)).text
        assert "javascript:" not in text
        assert "<script>alert" not in text
