"""Badges of projects and groups, and the pictures."""

import pytest

from models.repositories.logs import coverage
from models.repositories.projects.badges import badge
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Person, Site
from tests.api.v4.told_faults import told_faults

LINK = "https://%{gitlab_server}/%{project_path}/-/commits/%{commit_sha}"
IMAGE = "https://%{gitlab_server}/%{project_path}/badges/%{default_branch}/pipeline.svg?tag=%{latest_tag}"
NEW = {"link_url": LINK, "image_url": IMAGE, "name": "state"}


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a commit."""
    here = Merging(site)
    await here.begin("build: {script: make}\ntest: {script: make}\n")
    return here


async def test_badges_of_a_project_are_shown_with_those_of_its_groups(here: Merging) -> None:
    sha = (await here.good("GET", "repository/commits/main"))["id"]
    await here.good("POST", "repository/tags", json={"tag_name": "v1", "ref": "main"})
    path, root = await here.site.path(), here.site.root
    made = await here.good("POST", "badges", json=NEW)
    server = here.site.services.settings.url.partition("//")[2]
    assert made["rendered_link_url"] == f"https://{server}/{path}/-/commits/{sha}"
    assert made["rendered_image_url"] == f"https://{server}/{path}/badges/main/pipeline.svg?tag=v1"
    assert (made["name"], made["kind"], made["link_url"]) == ("state", "project", LINK)
    changed = await here.good("PUT", f"badges/{made['id']}", json={"link_url": "https://a.example/"})
    assert (changed["rendered_link_url"], changed["image_url"]) == ("https://a.example/", IMAGE)
    async with here.site.client(root) as client:
        group = (await client.get(f"/api/v4/projects/{here.id}")).json()["namespace"]["id"]
        place = f"/api/v4/groups/{group}/badges"
        around = await client.post(place, json={**NEW, "name": "around"})
        assert (around.status_code, around.json()["rendered_link_url"]) == (201, made["rendered_link_url"])
        assert [one["name"] for one in (await client.get(place)).json()] == ["around"]
        preview = await client.get(f"{place}/render", params={"link_url": LINK, "image_url": IMAGE})
    assert preview.json()["rendered_link_url"] == made["rendered_link_url"]
    listed = [(one["name"], one["kind"]) for one in await here.good("GET", "badges")]
    assert listed == [("state", "project"), ("around", "group")]
    assert [one["kind"] for one in await here.good("GET", "badges?name=around")] == ["group"]
    assert (await here.call("DELETE", f"badges/{around.json()['id']}")).status_code == 403
    assert (await here.call("DELETE", f"badges/{made['id']}")).status_code == 204
    assert (await here.call("GET", f"badges/{made['id']}")).json() == {"message": "404 Badge Not Found"}


async def test_badges_are_changed_by_maintainers_and_lead_to_the_web_only(here: Merging) -> None:
    developer = await here.site.person("bob", 30)
    assert (await here.call("POST", "badges", developer, json=NEW)).status_code == 403
    assert await here.good("GET", "badges", developer) == []
    refused = await here.call("POST", "badges", json={**NEW, "link_url": "javascript:alert(1)"})
    assert (refused.status_code, "link_url is invalid" in told_faults(refused)) == (400, True)
    assert (await here.call("GET", "badges/render?link_url=x&image_url=x")).status_code == 400


async def test_badges_of_a_group_show_no_project_that_the_reader_may_not_read(here: Merging) -> None:
    stranger = await here.site.person("eve")
    async with here.site.client(here.site.root) as client:
        group = (await client.post("/api/v4/groups", json={"name": "g", "path": "g", "visibility": "public"})).json()
        await client.post("/api/v4/projects", json={"name": "secret", "namespace_id": group["id"]})
        await client.post(f"/api/v4/groups/{group['id']}/badges", json=NEW)
    async with here.site.client(stranger) as client:
        (shown,) = (await client.get(f"/api/v4/groups/{group['id']}/badges")).json()
    assert shown["rendered_link_url"] == LINK


async def test_badges_go_with_their_project_and_group(here: Merging) -> None:
    async with here.site.client(here.site.root) as client:
        group = (await client.post("/api/v4/groups", json={"name": "g", "path": "g"})).json()["id"]
        project = (await client.post("/api/v4/projects", json={"name": "p", "namespace_id": group})).json()["id"]
        for place in (f"groups/{group}", f"projects/{project}"):
            assert (await client.post(f"/api/v4/{place}/badges", json=NEW)).status_code == 201
        assert (await client.delete(f"/api/v4/groups/{group}")).status_code == 202
    async with here.site.services.database.read() as connection:
        assert (await connection.execute(badge.select())).all() == []


async def picture(here: Merging, address: str, who: Person | None = None) -> str:
    """A picture of the project, as it is served."""
    async with here.site.client(who or here.site.root) as client:
        response = await client.get(f"/{await here.site.path()}{address}")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "image/svg+xml"
    assert response.headers["cache-control"] == "no-store"
    return response.text


async def test_pictures_tell_of_the_newest_pipeline_of_a_ref(here: Merging) -> None:
    assert ">unknown<" in await picture(here, "/badges/main/pipeline.svg")
    pipeline = await here.good("POST", "pipeline", json={"ref": "main"})
    assert ">created<" in await picture(here, "/badges/main/pipeline.svg")
    assert ">unknown<" in await picture(here, "/badges/main/coverage.svg")
    jobs = {}
    for value in (40.0, 97.5):
        jobs[value] = (await here.play(pipeline["id"]))["id"]
        async with here.site.services.database.write() as connection:
            await coverage.put(connection, {jobs[value]: value})
    await here.site.world.settle(pipeline["id"])
    names = {job["id"]: job["name"] for job in await here.good("GET", f"pipelines/{pipeline['id']}/jobs")}
    passed = await picture(here, "/-/badges/main/pipeline.svg?ignore_skipped=true")
    assert ">passed<" in passed
    assert 'fill="#4c1"' in passed
    assert ">68.75%<" in await picture(here, "/badges/main/coverage.svg")
    assert ">97.50%<" in await picture(here, f"/badges/main/coverage.svg?job={names[jobs[97.5]]}")
    assert 'fill="#4c1"' in await picture(here, "/badges/main/coverage.svg?min_good=50")
    assert ">unknown<" in await picture(here, "/badges/a/b/coverage.svg")


async def test_a_picture_looks_as_asked_and_holds_text_only(here: Merging) -> None:
    text = "<script>&\"'"
    drawn = await picture(here, f"/badges/main/pipeline.svg?key_text={text.replace('&', '%26')}&key_width=130")
    assert "&lt;script&gt;&amp;&quot;&#x27;" in drawn
    assert "<script" not in drawn
    assert 'width="188"' in drawn
    assert 'rx="0"' in await picture(here, "/badges/main/pipeline.svg?style=flat-square")
    assert ">pipeline<" in await picture(here, f"/badges/main/pipeline.svg?key_text={'t' * 65}")
    assert ">none<" in await picture(here, "/-/badges/release.svg")
    await here.good("POST", "releases", json={"tag_name": "v1<2", "ref": "main"})
    assert ">v1&lt;2<" in await picture(here, "/-/badges/release.svg")


async def test_pictures_are_for_those_who_may_see_the_pipelines(here: Merging) -> None:
    address = f"/{await here.site.path()}/badges/main/pipeline.svg"
    guest = await here.site.person("gus", 10)
    seen = []
    for visibility in ("private", "public"):
        await here.site.set_project(visibility=visibility)
        for who in (None, guest):
            async with here.site.client(who) as client:
                seen.append((await client.get(address)).status_code)
                assert (await client.get(f"{address}?key_width=9999")).status_code != 500
    assert seen == [404, 403, 200, 200]
