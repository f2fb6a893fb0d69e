"""Deploy tokens: made, listed and revoked over the REST API; what they open, and what they do not."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from auth.registry_token import SERVICE
from tests.api.test_registry_auth import granted
from tests.api.v4.site import Site, open_site
from tests.api.v4.told_faults import told_faults

READS = ["read_repository", "read_registry"]
DEVELOPER, MAINTAINER = 30, 40


async def made(site: Site, place: str = "", **more: Any) -> dict[str, Any]:
    place = place or f"/projects/{site.world.project_id}"
    async with site.client(site.root) as client:
        response = await client.post(
            f"/api/v4{place}/deploy_tokens", json={"name": "deployer", "scopes": READS, **more}
        )
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


async def fetches(site: Site, token: dict[str, Any], path: str, service: str = "git-upload-pack") -> int:
    """The status of what git asks first."""
    async with site.client() as client:
        auth = (token["username"], token["token"])
        return (await client.get(f"/{path}.git/info/refs", params={"service": service}, auth=auth)).status_code


async def test_tokens_are_made_listed_and_revoked(site: Site) -> None:
    base = f"/api/v4/projects/{site.world.project_id}"
    until = (site.services.clock() + timedelta(days=1)).isoformat()
    token = await made(site, expires_at=until)
    assert token["token"].startswith("gldt-")
    assert (token["username"], token["scopes"]) == (
        f"gitlab+deploy-token-{token['id']}",
        ["read_repository", "read_registry"],
    )
    assert (await made(site, username="robot"))["username"] == "robot"
    kept = {name: value for name, value in token.items() if name != "token"}
    async with site.client(site.root) as client:
        listed = await client.get(f"{base}/deploy_tokens", params={"per_page": 1})
        assert (listed.json(), listed.headers["x-total"]) == ([kept], "2")
        assert (await client.get(f"{base}/deploy_tokens/{token['id']}")).json() == kept
        assert (await client.delete(f"{base}/deploy_tokens/{token['id']}")).status_code == 204
        gone = (await client.get("/api/v4/deploy_tokens", params={"active": False})).json()
        assert gone == [{**kept, "revoked": True}]
        assert [item["username"] for item in (await client.get("/api/v4/deploy_tokens?active=true")).json()] == [
            "robot"
        ]
        events = (await client.get(f"{base}/audit_events")).json()
        names = [event["event_name"] for event in events[:3]]
        assert names == ["deploy_token_revoked", "deploy_token_created", "deploy_token_created"]
        assert token["token"] not in str(events)
        for body, said in (
            ({"scopes": READS}, "name is missing"),
            ({"name": "x", "scopes": []}, "scopes does not have a valid value"),
            ({"name": "x", "scopes": ["read_package_registry"]}, "read_package_registry is unknown"),
            ({"name": "x", "scopes": READS, "username": "a:b"}, "username is invalid"),
            ({"name": "x", "scopes": READS, "expires_at": "2020-01-01"}, "must be a time to come"),
        ):
            refused = await client.post(f"{base}/deploy_tokens", json=body)
            assert (refused.status_code, said in told_faults(refused)) == (400, True), refused.text


async def test_a_token_fetches_from_its_project_and_pushes_nowhere(site: Site) -> None:
    await site.commit({"a": "a"})
    path, token = await site.path(), await made(site)
    assert await fetches(site, token, path) == 200
    assert await fetches(site, {**token, "username": "root"}, path) == 401, "the name is that of the token"
    assert await fetches(site, token, path, "git-receive-pack") == 403
    assert await fetches(site, await made(site, scopes=["read_registry"]), path) == 403
    async with site.client(headers={"PRIVATE-TOKEN": token["token"]}) as client:
        assert (await client.get("/api/v4/projects")).status_code == 401, "it is no token of the API"
    async with site.client(site.root) as client:
        await client.delete(f"/api/v4/projects/{site.world.project_id}/deploy_tokens/{token['id']}")
    assert await fetches(site, token, path) == 401


async def test_a_token_of_a_group_is_for_the_projects_in_it(site: Site) -> None:
    async with site.client(site.root) as client:
        top = (await client.post("/api/v4/groups", json={"name": "top", "path": "top"})).json()
        team = (await client.post("/api/v4/groups", json={"name": "t", "path": "t", "parent_id": top["id"]})).json()
        other = (await client.post("/api/v4/groups", json={"name": "o", "path": "other"})).json()
        for group in (team, other):
            await client.post("/api/v4/projects", json={"name": "app", "namespace_id": group["id"]})
        token = await made(site, f"/groups/{top['id']}")
        assert await fetches(site, token, "top/t/app") == 200
        assert await fetches(site, token, "other/app") == await fetches(site, token, "other/nothing") == 404
        mine = f"/api/v4/groups/{top['id']}/deploy_tokens"
        assert [item["id"] for item in (await client.get(mine)).json()] == [token["id"]]
        assert (await client.get(f"/api/v4/groups/{other['id']}/deploy_tokens/{token['id']}")).status_code == 404
        empty = (await client.post("/api/v4/groups", json={"name": "e", "path": "empty"})).json()
        await made(site, f"/groups/{empty['id']}")
        assert (await client.delete(f"/api/v4/groups/{empty['id']}")).status_code in {202, 204}


async def test_a_token_pulls_and_pushes_images_as_its_scopes_say(tmp_path: Path, database_url: str) -> None:
    async with open_site(tmp_path, database_url, registry_url="registry.example") as site:
        path = await site.path()
        for scopes, actions in ((["read_registry"], ["pull"]), (["write_registry"], ["pull", "push"])):
            token = await made(site, scopes=scopes)
            query = {"service": SERVICE, "scope": f"repository:{path}/tools:pull,push"}
            async with site.client() as client:
                response = await client.get("/jwt/auth", params=query, auth=(token["username"], token["token"]))
                assert granted(site, response) == {f"{path}/tools": actions}
                form = {"service": SERVICE, "scope": query["scope"], "username": token["username"]}
                asked = await client.post("/jwt/auth", data={**form, "password": token["token"]})
                assert granted(site, asked) == {f"{path}/tools": actions}
                form["username"] = "root"
                refused = await client.post("/jwt/auth", data={**form, "password": token["token"]})
                assert refused.status_code == 401


async def test_maintainers_make_them_developers_do_not(site: Site) -> None:
    base = f"/api/v4/projects/{site.world.project_id}/deploy_tokens"
    for level, status in ((DEVELOPER, 403), (MAINTAINER, 201)):
        person = await site.person(f"level{level}", level)
        async with site.client(person) as client:
            assert (await client.post(base, json={"name": "x", "scopes": READS})).status_code == status
            assert (await client.get(base)).status_code == (200 if status == 201 else 403)
            assert (await client.get("/api/v4/deploy_tokens")).status_code == 403


async def test_jobs_are_given_the_token_with_the_special_name(site: Site) -> None:
    async def known() -> dict[str, str]:
        await site.world.pipeline("job: {script: deploy}\n")
        job = await site.world.job()
        await site.world.put(job, "success")
        return {item["key"]: item["value"] for item in job["variables"] if item["key"].startswith("CI_DEPLOY_")}

    await made(site)
    assert await known() == {}
    token = await made(site, name="gitlab-deploy-token")
    assert await known() == {"CI_DEPLOY_USER": token["username"], "CI_DEPLOY_PASSWORD": token["token"]}
    async with site.client(site.root) as client:
        await client.delete(f"/api/v4/projects/{site.world.project_id}/deploy_tokens/{token['id']}")
    assert await known() == {}
