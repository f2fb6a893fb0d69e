"""No token outlives what made it: robots make none, what a token makes ends with it, a robot with its last token."""

from datetime import date, timedelta
from typing import Any

import httpx
import pytest

from auth.session_token import COOKIE, issue_session
from loops.retention import RetentionLoop
from models.repositories.accounts.accounts import access_token, user
from tests.api.v4.accounts.test_ssh_keys import KEY
from tests.api.v4.site import Person, Site
from tests.api.v4.told_faults import told_faults

PERSONAL = "/user/personal_access_tokens"


async def call(site: Site, method: str, path: str, body: Any = None, token: str = "") -> httpx.Response:
    async with site.client(Person(0, "", token or site.root.token)) as client:
        return await client.request(method, f"/api/v4{path}", json=body)


async def made(site: Site, path: str, token: str = "", **body: Any) -> dict[str, Any]:
    response = await call(site, "POST", path, {"name": "t", "scopes": ["api"], **body}, token)
    assert response.status_code in (200, 201), response.text
    document: dict[str, Any] = response.json()
    return document


def in_days(site: Site, days: int) -> date:
    return site.services.clock().date() + timedelta(days=days)


def doors(site: Site) -> dict[str, tuple[str, dict[str, Any]]]:
    """Every door that makes a credential, and what it is given."""
    project = f"/projects/{site.world.project_id}"
    return {
        "personal": (PERSONAL, {"name": "t", "scopes": ["read_api"]}),
        "SSH key": ("/user/keys", {"title": "t", "key": KEY}),
        "project": (f"{project}/access_tokens", {"name": "t", "scopes": ["read_api"], "access_level": 10}),
        "deploy": (f"{project}/deploy_tokens", {"name": "t", "scopes": ["read_repository"]}),
        "trigger": (f"{project}/triggers", {"description": "t"}),
    }


async def opens(site: Site, token: str) -> bool:
    return (await call(site, "GET", "/personal_access_tokens/self", token=token)).status_code == 200


@pytest.mark.parametrize("door", ["personal", "SSH key", "project", "deploy", "trigger"])
async def test_robots_and_impersonation_tokens_make_none(site: Site, door: str) -> None:
    path, body = doors(site)[door]
    bot = await made(site, f"/projects/{site.world.project_id}/access_tokens", access_level=50)
    impersonation = await made(site, f"/users/{site.root.id}/impersonation_tokens")
    for maker, word in ((bot, "robot"), (impersonation, "impersonation")):
        refused = await call(site, "POST", path, body, maker["token"])
        assert (refused.status_code, word in refused.text) == (403, True), refused.text


async def test_nobody_gives_a_robot_further_tokens(site: Site) -> None:
    bot = await made(site, f"/projects/{site.world.project_id}/access_tokens")
    for path in ("personal_access_tokens", "impersonation_tokens"):
        body = {"name": "t", "scopes": ["api"]}
        assert (await call(site, "POST", f"/users/{bot['user_id']}/{path}", body)).status_code == 403
    key = await call(site, "POST", f"/users/{bot['user_id']}/keys", {"title": "t", "key": KEY})
    assert key.status_code == 403


@pytest.mark.parametrize("door", ["personal", "SSH key", "project", "deploy", "trigger"])
async def test_what_a_token_makes_ends_with_it_at_the_latest(site: Site, door: str) -> None:
    path, body = doors(site)[door]
    end = in_days(site, 5)
    maker = await made(site, PERSONAL, expires_at=end.isoformat())
    later = await call(site, "POST", path, {**body, "expires_at": in_days(site, 6).isoformat()}, maker["token"])
    assert (later.status_code, f"after {end}" in told_faults(later)) == (400, True), later.text
    child = await made(site, path, maker["token"], **body)
    assert child["expires_at"][:10] == end.isoformat()


@pytest.mark.parametrize("door", ["personal", "SSH key", "project", "deploy", "trigger"])
async def test_what_a_token_has_made_ends_when_it_is_revoked(site: Site, door: str) -> None:
    path, body = doors(site)[door]
    maker = await made(site, PERSONAL)
    child = await made(site, PERSONAL, maker["token"])
    grandchild = await made(site, path, child["token"], **body)
    assert (await call(site, "DELETE", f"/personal_access_tokens/{maker['id']}")).status_code == 204
    assert not await opens(site, child["token"])
    if door in ("personal", "project"):
        assert not await opens(site, grandchild["token"])
        return
    there = await call(site, "GET", f"{path}/{grandchild['id']}")
    assert there.status_code == 404 or there.json().get("revoked") is True, there.text


async def test_what_a_rotated_token_has_made_follows_its_successor(site: Site) -> None:
    maker = await made(site, PERSONAL, expires_at=in_days(site, 30).isoformat())
    child = await made(site, PERSONAL, maker["token"])
    path = "/personal_access_tokens/self/rotate"
    successor = await made(site, path, maker["token"], expires_at=in_days(site, 9).isoformat())
    known = (await call(site, "GET", "/personal_access_tokens/self", token=child["token"])).json()
    assert (known["maker_id"], known["expires_at"]) == (successor["id"], in_days(site, 9).isoformat())
    later = await call(site, "POST", path, {"expires_at": in_days(site, 10).isoformat()}, child["token"])
    assert later.status_code == 400
    fresh = await made(site, path, child["token"])
    assert (fresh["maker_id"], fresh["expires_at"]) == (successor["id"], in_days(site, 7).isoformat())
    assert (await call(site, "DELETE", "/personal_access_tokens/self", token=successor["token"])).status_code == 204
    assert not await opens(site, fresh["token"])


async def test_who_rotates_anothers_token_is_what_made_it(site: Site) -> None:
    end = in_days(site, 3)
    short = await made(site, PERSONAL, expires_at=end.isoformat())
    lasting = await made(site, PERSONAL)
    rotated = await made(site, f"/personal_access_tokens/{lasting['id']}/rotate", short["token"])
    assert (rotated["maker_id"], rotated["expires_at"]) == (short["id"], end.isoformat())
    above = await call(site, "POST", f"/personal_access_tokens/{short['id']}/rotate", {}, rotated["token"])
    assert (above.status_code, "made it" in above.text) == (403, True)


async def test_a_rotated_token_that_is_rotated_again_ends_its_family(site: Site) -> None:
    """Two hold it: GitLab: "Personal access tokens", "Automatic token reuse detection"."""
    path = "/personal_access_tokens/self/rotate"
    first = await made(site, PERSONAL)
    second = await made(site, path, first["token"])
    third = await made(site, path, second["token"])
    child = await made(site, PERSONAL, third["token"])
    assert await opens(site, third["token"])
    assert (await call(site, "POST", path, {}, first["token"])).status_code == 401
    assert not await opens(site, third["token"])
    assert not await opens(site, child["token"])


async def test_what_a_token_has_made_for_others_rests_while_its_person_is_blocked(site: Site) -> None:
    admin, ada = await site.person("boss"), await site.person("ada")
    async with site.services.database.write() as connection:
        await connection.execute(user.update().where(user.c.id == admin.id).values(is_admin=True))
    child = await made(site, f"/users/{ada.id}/personal_access_tokens", admin.token)
    bot = await made(site, f"/projects/{site.world.project_id}/access_tokens", admin.token)
    for state, is_good in (("block", False), ("unblock", True)):
        assert (await call(site, "POST", f"/users/{admin.id}/{state}")).status_code == 201
        assert [await opens(site, one["token"]) for one in (child, bot)] == [is_good, is_good]


async def state_of(site: Site, user_id: int) -> str:
    return str((await call(site, "GET", f"/users/{user_id}")).json()["state"])


@pytest.mark.parametrize("kind", ["projects", "groups"])
async def test_a_robot_ends_with_its_last_token(site: Site, kind: str) -> None:
    project = (await call(site, "GET", f"/projects/{site.world.project_id}")).json()
    owner = f"/{kind}/{project['id'] if kind == 'projects' else project['namespace']['id']}"
    bot = await made(site, f"{owner}/access_tokens", access_level=40)
    rotated = await made(site, "/personal_access_tokens/self/rotate", bot["token"])
    assert await state_of(site, bot["user_id"]) == "active"
    members = (await call(site, "GET", f"{owner}/members")).json()
    (expires_at,) = {one["expires_at"] for one in members if one["id"] == bot["user_id"]}
    assert expires_at == rotated["expires_at"] == in_days(site, 7).isoformat()
    assert (await call(site, "DELETE", "/personal_access_tokens/self", token=rotated["token"])).status_code == 204
    assert await state_of(site, bot["user_id"]) == "blocked"
    members = (await call(site, "GET", f"{owner}/members")).json()
    assert bot["user_id"] not in {one["id"] for one in members}


async def test_a_robot_whose_last_token_has_expired_ends_by_itself(site: Site) -> None:
    bot, other = [await made(site, f"/projects/{site.world.project_id}/access_tokens") for _ in "ab"]
    async with site.services.database.write() as connection:
        past = access_token.update().where(access_token.c.id == bot["id"])
        await connection.execute(past.values(expires_on=in_days(site, -1)))
    services = site.services
    loop = RetentionLoop(services.database, services.repositories, services.clock, services.settings.retention)
    await loop.remove_dead_rows()
    assert [await state_of(site, one["user_id"]) for one in (bot, other)] == ["blocked", "active"]


async def test_an_administrator_sees_and_ends_the_tokens_of_anybody(site: Site) -> None:
    ada = await site.person("ada")
    bot = await made(site, f"/projects/{site.world.project_id}/access_tokens")
    mine = await made(site, PERSONAL, ada.token)
    impersonation = await made(site, f"/users/{ada.id}/impersonation_tokens")
    for owner, expected in ((ada.id, mine["id"]), (bot["user_id"], bot["id"])):
        listed = (await call(site, "GET", f"/personal_access_tokens?user_id={owner}&state=active")).json()
        assert expected in [one["id"] for one in listed]
    for one in (mine, bot, impersonation):
        if one is not mine:
            refused = await call(site, "DELETE", f"/personal_access_tokens/{one['id']}", token=ada.token)
            assert refused.status_code == 404
        assert (await call(site, "DELETE", f"/personal_access_tokens/{one['id']}")).status_code == 204
        assert not await opens(site, one["token"])


async def test_a_session_that_began_with_a_token_makes_no_more_than_the_token(site: Site) -> None:
    maker = await made(site, PERSONAL, expires_at=in_days(site, 4).isoformat())
    impersonation = await made(site, f"/users/{site.root.id}/impersonation_tokens")
    address = "/-/profile/personal_access_tokens"
    for token_id, status in ((maker["id"], 201), (impersonation["id"], 403), (0, 201)):
        session = issue_session(site.services.key, site.root.id, site.services.clock(), token_id=token_id)
        headers = {"Origin": site.services.settings.url}
        async with site.client(cookies={COOKIE: session}, headers=headers) as client:
            response = await client.post(address, data={"name": f"by {token_id}", "scopes": ["api"]})
        assert response.status_code == status, response.text
    listed = {one["name"]: one["expires_at"] for one in (await call(site, "GET", "/personal_access_tokens")).json()}
    assert (listed[f"by {maker['id']}"], listed["by 0"]) == (in_days(site, 4).isoformat(), None)
