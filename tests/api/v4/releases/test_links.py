"""Links of a release over the REST API, and the lasting addresses of what they lead to; releases that are changed."""

import asyncio
from typing import Any

from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults

FILES = {".gitlab-ci.yml": "publish: {script: x, rules: [{if: $CI_COMMIT_TAG}]}\n"}
GUEST, REPORTER, DEVELOPER = 10, 20, 30
APP = {"name": "app", "url": "https://files.example/app-1", "direct_asset_path": "/bin/app", "link_type": "package"}


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}/releases{rest}"


async def released(site: Site, client: Any, **more: Any) -> None:
    await site.commit(FILES)
    new = {"tag_name": "rel/1.0", "ref": "main", "description": "One", **more}
    assert (await client.post(address(site), json=new)).status_code == 201


async def test_links_are_added_changed_listed_and_taken_away(site: Site) -> None:
    links = "/rel%2F1.0/assets/links"
    async with site.client(site.root) as client:
        await released(site, client, assets={"links": [{"name": "doc", "url": "https://files.example/doc"}]})
        made = await client.post(address(site, links), json=APP)
        assert made.status_code == 201, made.text
        page = f"{site.services.settings.url}/{await site.path()}/-/releases/rel%2F1.0/downloads/bin/app"
        assert made.json() == {
            "id": 2,
            "name": "app",
            "url": "https://files.example/app-1",
            "direct_asset_url": page,
            "link_type": "package",
        }
        listed = await client.get(address(site, links), params={"per_page": 1, "page": 2})
        assert (listed.json(), listed.headers["x-total"]) == ([made.json()], "2")
        one = f"{links}/2"
        changed = await client.put(address(site, one), json={"url": "https://files.example/app-2"})
        assert changed.json() == {**made.json(), "url": "https://files.example/app-2"}
        assert (await client.get(address(site, one))).json() == changed.json()
        release = (await client.get(address(site, "/rel%2F1.0"))).json()
        assert [link["id"] for link in release["assets"]["links"]] == [1, 2]
        for way in (address(site, "/rel%2F1.0/downloads/bin/app"), page, page.replace("rel%2F1.0", "permalink/latest")):
            led = await client.get(way)
            assert (led.status_code, led.headers["location"]) == (302, "https://files.example/app-2"), way
        latest = await client.get(address(site, "/permalink/latest/downloads/bin/app"))
        assert latest.headers["location"] == "https://files.example/app-2"
        assert (await client.get(address(site, "/rel%2F1.0/downloads/bin/other"))).status_code == 404
        assert (await client.delete(address(site, one))).json() == changed.json()
        for method in ("GET", "PUT", "DELETE"):
            gone = await client.request(method, address(site, one), json={"name": "x"})
            assert (gone.status_code, gone.json()) == (404, {"message": "404 Not Found"})
        assert (await client.get(page)).status_code == 404


async def test_what_is_wrong_with_a_link_is_told_and_changes_nothing(site: Site) -> None:
    links = "/rel%2F1.0/assets/links"
    async with site.client(site.root) as client:
        await released(site, client, assets={"links": [APP]})
        for body, said in (
            ({"name": "x"}, "url is missing"),
            ({**APP, "name": "x", "url": "https://files.example/x"}, "two links with filepath '/bin/app'"),
            ({"name": "x", "url": "javascript:alert(1)"}, "use http, https or ftp"),
            (
                {"name": "x", "url": "https://files.example/x", "link_type": "y"},
                "link_type does not have a valid value",
            ),
        ):
            refused = await client.post(address(site, links), json=body)
            assert (refused.status_code, said in told_faults(refused)) == (400, True), refused.text
        nothing = await client.put(address(site, f"{links}/1"), json={})
        assert (nothing.status_code, "at least one parameter" in nothing.json()["message"]) == (400, True)
        assert len((await client.get(address(site, links))).json()) == 1
        assert (await client.get(address(site, "/nothing/assets/links"))).status_code == 404


async def test_links_that_are_added_at_the_same_time_are_all_kept(site: Site) -> None:
    async with site.client(site.root) as client:
        await released(site, client)
        bodies = [{"name": f"n{at}", "url": f"https://files.example/{at}"} for at in range(5)]
        responses = await asyncio.gather(
            *(client.post(address(site, "/rel%2F1.0/assets/links"), json=body) for body in bodies)
        )
        assert sorted(response.json()["id"] for response in responses) == [1, 2, 3, 4, 5]
        assert len((await client.get(address(site, "/rel%2F1.0/assets/links"))).json()) == 5


async def test_a_release_is_changed_field_by_field(site: Site) -> None:
    async with site.client(site.root) as client:
        await released(site, client, name="One", milestones=["m1"])
        one = address(site, "/rel%2F1.0")
        new = {"description": "more", "released_at": "2020-01-02T03:04:05Z"}
        changed = (await client.put(one, json=new)).json()
        assert (changed["name"], changed["description"]) == ("One", "more")
        assert (changed["released_at"], changed["milestones"]) == ("2020-01-02T03:04:05.000Z", [{"title": "m1"}])
        assert (await client.put(one, json={"name": "", "milestones": []})).json()["name"] == "rel/1.0"
        assert (await client.get(one)).json()["milestones"] == []
        assert (await client.put(one, json={"released_at": "soon"})).status_code == 400
        assert (await client.put(one, json={"description": "a\0"})).status_code == 400
        assert (await client.put(address(site, "/nothing"), json=new)).status_code == 404


async def test_members_read_links_developers_change_them(site: Site) -> None:
    async with site.client(site.root) as client:
        await released(site, client, assets={"links": [APP]})
    page = f"/{await site.path()}/-/releases/rel%2F1.0/downloads/bin/app"
    for level, read, write in ((0, 404, 404), (GUEST, 403, 403), (REPORTER, 302, 403), (DEVELOPER, 302, 200)):
        person = await site.person(f"level{level}", level)
        async with site.client(person) as client:
            assert (await client.get(address(site, "/rel%2F1.0/downloads/bin/app"))).status_code == read
            assert (await client.get(page)).status_code == read
            changed = await client.put(address(site, "/rel%2F1.0/assets/links/1"), json={"link_type": "other"})
            assert changed.status_code == write
            assert (await client.put(address(site, "/rel%2F1.0"), json={"name": "n"})).status_code == write


async def test_every_change_of_a_protected_tags_release_asks_who_may_make_the_tag(site: Site) -> None:
    link, release = "/rel%2F1.0/assets/links", "/rel%2F1.0"
    changes: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("PUT", release, {"description": "Mine"}),
        ("POST", link, {"name": "mine", "url": "https://other.example/app"}),
        ("PUT", f"{link}/1", {"url": "https://other.example/app-2"}),
        ("DELETE", f"{link}/1", {}),
        ("DELETE", release, {}),
        ("POST", "", {"tag_name": "rel/1.0", "description": "Mine"}),
    )
    developer = await site.person("dev", DEVELOPER)
    async with site.client(site.root) as owner, site.client(developer) as client:
        await released(site, owner, assets={"links": [APP]})
        before = (await owner.get(address(site, release))).json()
        tags = f"/api/v4/projects/{site.world.project_id}/protected_tags"
        assert (await owner.post(tags, json={"name": "rel/*"})).status_code == 201
        for method, path, body in changes:
            refused = await client.request(method, address(site, path), json=body or None)
            assert (refused.status_code, "is protected" in refused.text) == (403, True), (method, path, refused.text)
        assert (await owner.get(address(site, release))).json() == before
        assert (await owner.delete(f"{tags}/rel%2F%2A")).status_code == 204
        for method, path, body in changes:
            done = await client.request(method, address(site, path), json=body or None)
            assert done.is_success, (method, path, done.text)
