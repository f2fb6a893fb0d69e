"""People, tokens, organisations, projects."""

from datetime import date

from domain.pods.token_prefixes import PERSONAL
from models.repositories.accounts import accounts
from tests.api.v4.site import Site


async def test_an_administrator_adds_a_person_whose_token_works(site: Site) -> None:
    async with site.client(site.root) as client:
        made = await client.post("/api/v4/users", json={"username": "ada", "name": "Ada L", "email": "ada@example.com"})
        assert made.status_code == 201
        tokens = f"/api/v4/users/{made.json()['id']}/personal_access_tokens"
        token = await client.post(tokens, json={"name": "cli", "scopes": ["api"]})
        strange = await client.post(tokens, json={"name": "cli", "scopes": ["everything"]})
        expired = await client.post(tokens, json={"name": "cli", "scopes": ["api"], "expires_at": "2020-01-01"})
        nobody = {"name": "cli", "scopes": ["api"]}
        unknown = await client.post("/api/v4/users/999/personal_access_tokens", json=nobody)
        taken = await client.post("/api/v4/users", json={"username": "ada", "name": "A", "email": "a@b"})
    assert token.status_code == 201
    assert token.json()["token"].startswith(PERSONAL)
    assert (strange.status_code, expired.status_code, unknown.status_code) == (400, 400, 404)
    assert taken.json() == {"message": "Username has already been taken"}
    async with site.client(headers={"Authorization": f"Bearer {token.json()['token']}"}) as ada:
        me = (await ada.get("/api/v4/user")).json()
        version = await ada.get("/api/v4/version")
        forbidden = await ada.post("/api/v4/users", json={"username": "bob", "name": "B", "email": "b@b"})
        found = (await ada.get("/api/v4/users", params={"username": "root"})).json()
    assert (me["username"], me["name"], me["email"], me["is_admin"]) == ("ada", "Ada L", "ada@example.com", False)
    assert version.json()["version"].count(".") == 2
    assert forbidden.status_code == 403
    assert [item["username"] for item in found] == ["root"]
    assert "email" not in found[0]


async def test_names_that_cannot_be_addresses_are_refused(site: Site) -> None:
    async with site.client(site.root) as client:
        for name in ("", "-x", "a/b", "api", "a.git", "<b>", "a b", "x" * 300):
            user = await client.post("/api/v4/users", json={"username": name, "name": "A", "email": "a@b"})
            group = await client.post("/api/v4/groups", json={"path": name, "name": "A"})
            assert (user.status_code, group.status_code) == (400, 400), name


async def test_organisations_are_groups_and_namespaces(site: Site) -> None:
    async with site.client(site.root) as client:
        made = (await client.post("/api/v4/groups", json={"path": "acme", "name": "Acme"})).json()
        same = [
            (await client.get(f"/api/v4/{noun}/{key}")).json()
            for noun in ("groups", "organizations", "namespaces")
            for key in (made["id"], "acme")
        ]
        project = await client.post("/api/v4/projects", json={"name": "My App", "namespace_id": made["id"]})
        again = await client.post("/api/v4/projects", json={"path": "my-app", "organization": "acme"})
        listed = await client.get("/api/v4/groups/acme/projects")
    assert {(item["id"], item["full_path"], item["name"]) for item in same} == {(made["id"], "acme", "Acme")}
    document = project.json()
    assert (document["path_with_namespace"], document["name"]) == ("acme/my-app", "My App")
    assert document["http_url_to_repo"] == f"{site.services.settings.url}/acme/my-app.git"
    assert (site.services.repositories.path(document["id"]) / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert again.status_code == 400
    assert [item["id"] for item in listed.json()] == [document["id"]]
    async with site.client(await site.person("eve")) as stranger:
        assert (await stranger.get("/api/v4/groups/acme")).status_code == 404
        assert (await stranger.post("/api/v4/groups", json={"path": "eves", "name": "E"})).status_code == 201
        intruding = await stranger.post("/api/v4/projects", json={"name": "x", "organization": "acme"})
        own = await stranger.post("/api/v4/projects", json={"name": "mine", "visibility": "public"})
        second = await stranger.post("/api/v4/projects", json={"name": "second"})
    assert intruding.status_code == 404
    assert own.json()["path_with_namespace"] == "eve/mine"
    assert second.json()["path_with_namespace"] == "eve/second"


async def test_lists_of_projects_show_what_the_caller_may_see(site: Site) -> None:
    eve = await site.person("eve")
    async with site.client(eve) as client:
        own = (await client.post("/api/v4/projects", json={"name": "mine"})).json()["id"]
        assert [item["id"] for item in (await client.get("/api/v4/projects")).json()] == [own]
    async with site.client() as stranger:
        assert (await stranger.get("/api/v4/projects")).json() == []
        await site.set_project(visibility="public")
        assert [item["id"] for item in (await stranger.get("/api/v4/projects")).json()] == [site.world.project_id]
    async with site.client(site.root) as root:
        assert len((await root.get("/api/v4/projects")).json()) == 2
        found = (await root.get("/api/v4/projects", params={"search": "MINE"})).json()
        none = (await root.get("/api/v4/projects", params={"search": "%"})).json()
    assert [item["id"] for item in found] == [own]
    assert none == []


async def test_a_refused_project_leaves_nothing_behind(site: Site) -> None:
    async with site.client(site.root) as client:
        response = await client.post("/api/v4/projects", json={"name": "x", "default_branch": "a..b"})
        nameless = await client.post("/api/v4/projects", json={"name": "!!!"})
        listed = (await client.get("/api/v4/projects")).json()
    assert (response.status_code, nameless.status_code) == (400, 400)
    assert [item["id"] for item in listed] == [site.world.project_id]


async def test_people_show_when_they_came_to_themselves_and_administrators(site: Site) -> None:
    eve = await site.person("eve")
    async with site.client(site.root) as root, site.client(eve) as client:
        unseen = (await root.get(f"/api/v4/users/{eve.id}")).json()
        me = (await client.get("/api/v4/user")).json()
        own = (await client.post("/api/v4/projects", json={"name": "mine"})).json()["namespace"]["id"]
        for _ in range(2):
            form = {"username": "eve", "password": eve.token}
            origin = {"origin": site.services.settings.url}
            async with site.client(headers=origin) as browser:
                assert (await browser.post("/users/sign_in", data=form)).status_code == 303
        seen = (await root.get(f"/api/v4/users/{eve.id}")).json()
        others = (await client.get(f"/api/v4/users/{site.root.id}")).json()
    today = site.services.clock().date().isoformat()
    assert (unseen["last_activity_on"], unseen["last_sign_in_at"], unseen["namespace_id"]) == (None, None, None)
    assert (me["last_activity_on"], me["current_sign_in_at"]) == (today, None)
    assert seen["namespace_id"] == own
    assert seen["last_sign_in_at"] < seen["current_sign_in_at"]
    assert not {"last_activity_on", "last_sign_in_at", "namespace_id"} & set(others)


async def test_the_day_of_the_last_call_is_written_by_the_first_one_of_a_day(site: Site) -> None:
    eve = await site.person("eve")
    shown = []
    async with site.client(eve) as client:
        for day in (date(2020, 1, 1), date(2999, 1, 1)):
            async with site.services.database.write() as connection:
                await accounts.change(connection, eve.id, last_activity_on=day)
            shown.append((await client.get("/api/v4/user")).json()["last_activity_on"])
    assert shown == [site.services.clock().date().isoformat(), "2999-01-01"]
