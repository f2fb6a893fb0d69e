"""The form of a new project, and the pages of people and groups that links to names lead to."""

import re

import pytest

from auth.permissions import DEVELOPER, GUEST
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site


async def test_a_project_is_made_where_its_maker_may_and_shows_how_to_push(site: Site) -> None:
    ada = await site.person("ada", DEVELOPER)
    async with browser(site, ada, Origin=site.services.settings.url) as client:
        form = (await client.get("/projects/new")).text
        made = await client.post("/projects", data={"name": "My shop", "visibility": "internal"})
        page = (await client.get(made.headers["location"])).text
        again = await client.post("/projects", data={"name": "My shop"})
        (known,) = (await client.get("/api/v4/projects?search=my-shop")).json()
    assert "ada (you)" in form
    assert made.status_code == 303
    assert made.headers["location"] == "/ada/my-shop"
    assert "git push perdure main" in page
    assert (known["name"], known["visibility"]) == ("My shop", "internal")
    assert again.status_code == 400
    assert "has already been taken" in again.text
    assert 'value="My shop"' in again.text


@pytest.mark.parametrize("name", ["", "...", "<script>alert(1)</script>", "x" * 256, "a.git"])
async def test_a_name_that_is_none_is_refused_in_words(site: Site, name: str) -> None:
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        response = await client.post("/projects", data={"name": name})
    if response.status_code == 303:
        assert re.fullmatch(r"/root/[a-z0-9_.-]+", response.headers["location"])
    else:
        assert response.status_code in {400, 404, 422}
        assert "<script>alert" not in response.text


async def test_nobody_makes_projects_in_a_group_that_is_not_theirs(site: Site) -> None:
    group = (await site.path()).rpartition("/")[0]
    guest = await site.person("gus", GUEST)
    async with browser(site, guest, Origin=site.services.settings.url) as client:
        response = await client.post("/projects", data={"name": "mine", "namespace": group})
    assert response.status_code == 400
    async with browser(site, Origin=site.services.settings.url) as client:
        assert (await client.post("/projects", data={"name": "x"})).headers["location"].startswith("/users/sign_in")
        assert (await client.get("/projects/new")).headers["location"].startswith("/users/sign_in")


async def test_the_name_of_a_person_leads_to_them_and_of_a_group_to_it(site: Site) -> None:
    ada, eve = await site.person("ada"), await site.person("eve")
    group = (await site.path()).partition("/")[0]
    async with browser(site, ada, Origin=site.services.settings.url) as client:
        await client.post("/projects", data={"name": "shop"})
        own = await client.get("/ada")
        events = await client.get("/ada/-/events?once")
    async with browser(site, eve) as client:
        foreign = await client.get("/ada")
        hidden = await client.get(f"/{group}")
        nobody = await client.get("/nobody-here")
    async with browser(site, site.root) as client:
        led = await client.get(f"/{group}")
    async with browser(site) as client:
        assert (await client.get("/ada")).status_code == 401
        assert (await client.get("/nobody-here")).status_code == 401
    assert own.status_code == foreign.status_code == 200
    assert 'href="/ada/shop"' in own.text
    assert 'href="/ada/shop"' in events.text
    assert "shop" not in foreign.text
    assert (hidden.status_code, nobody.status_code) == (404, 404)
    assert led.headers["location"] == f"/groups/{group}"
