"""The page of a group."""

from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.site import Site


async def test_a_group_shows_its_projects_to_those_who_may_see_them(site: Site) -> None:
    async with site.client(site.root) as client:
        group = (await client.post("/api/v4/groups", json={"name": EVIL, "path": "inside"})).json()
        made = await client.post("/api/v4/projects", json={"name": "app", "namespace_id": group["id"]})
    page = group["web_url"].removeprefix(site.services.settings.url)
    passer = await site.person("passer")
    async with browser(site, site.root) as client:
        response = await client.get(page)
    assert response.status_code == 200
    assert made.json()["path_with_namespace"] in response.text
    assert await site.path() not in response.text
    assert "<script>alert" not in response.text
    for person in (passer, None):
        async with browser(site, person) as client:
            assert (await client.get(page)).status_code == 404
            assert (await client.get(f"{page}/-/events")).status_code == 404
