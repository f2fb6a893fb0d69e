"""The pages that pushes, webhooks and the REST API link to: of merge requests and of groups."""

from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site


async def test_a_merge_request_says_what_it_brings_and_what_stands_in_its_way(site: Site) -> None:
    merging = Merging(site)
    await merging.begin()
    await merging.commit("fix", {"README": "fixed\n"})
    body = {"source_branch": "fix", "target_branch": "main", "title": EVIL, "description": EVIL}
    made = await merging.good("POST", "merge_requests", json=body)
    page = made["web_url"].removeprefix(site.services.settings.url)
    async with browser(site, site.root) as client:
        response = await client.get(page)
    assert response.status_code == 200
    assert "<script>alert" not in response.text
    assert "<code>fix</code> into <code>main</code>" in response.text
    assert f'/-/pipelines/{made["head_pipeline"]["id"]}"' in response.text
    assert "1 file changed" in response.text
    assert "It can be merged." in response.text
    assert f"perdure mr merge {made['iid']}" in response.text

    await merging.good("PUT", f"merge_requests/{made['iid']}", json={"title": "Draft: fix"})
    async with browser(site, site.root) as client:
        response = await client.get(page)
        missing = await client.get(f"{page}0000")
    assert "It is a draft" in response.text
    assert "perdure mr merge" not in response.text
    assert missing.status_code == 404


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
