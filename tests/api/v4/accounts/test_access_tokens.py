"""Access tokens: what their scopes permit, how long they are good, how they are replaced."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.api.v4.site import Person, Site


async def call(site: Site, method: str, path: str, body: Any = None, person: Person | None = None) -> httpx.Response:
    async with site.client(person or site.root) as client:
        return await client.request(method, f"/api/v4{path}", json=body)


async def token(site: Site, *scopes: str, **more: Any) -> Person:
    """The administrator with a token of these scopes."""
    made = await call(site, "POST", "/user/personal_access_tokens", {"name": "t", "scopes": list(scopes), **more})
    assert made.status_code == 201, made.text
    return Person(site.root.id, "root", made.json()["token"])


@pytest.mark.parametrize(
    ("scope", "reads", "writes", "knows_itself", "creates_runners"),
    [
        ("api", 200, 201, 200, 201),
        ("read_api", 200, 403, 200, 403),
        ("read_user", 403, 403, 200, 403),
        ("read_repository", 403, 403, 403, 403),
        ("create_runner", 403, 403, 403, 201),
    ],
)
async def test_a_scope_permits_what_it_says(
    site: Site, scope: str, reads: int, writes: int, knows_itself: int, creates_runners: int
) -> None:
    shown = await token(site, scope)
    found = [
        (await call(site, "GET", "/projects", person=shown)).status_code,
        (await call(site, "POST", "/groups", {"name": "g", "path": "g"}, shown)).status_code,
        (await call(site, "GET", "/user", person=shown)).status_code,
        (await call(site, "POST", "/user/runners", {"runner_type": "instance_type"}, shown)).status_code,
    ]
    assert found == [reads, writes, knows_itself, creates_runners]


async def test_a_refusal_says_which_scope_would_do(site: Site) -> None:
    response = await call(site, "POST", "/groups", {"name": "g", "path": "g"}, await token(site, "read_api"))
    assert response.json()["message"].startswith("insufficient_scope: this token may not write to the API")


async def test_a_token_makes_none_that_may_do_more(site: Site) -> None:
    narrow = await token(site, "read_api", "self_rotate")
    body = {"name": "x", "scopes": ["api"]}
    assert (await call(site, "POST", "/user/personal_access_tokens", body, narrow)).status_code == 403


async def test_a_token_is_good_until_its_day(site: Site) -> None:
    today = site.services.clock().date()
    for wrong in (today, today - timedelta(days=1), today + timedelta(days=500)):
        body = {"name": "x", "scopes": ["api"], "expires_at": wrong.isoformat()}
        assert (await call(site, "POST", "/user/personal_access_tokens", body)).status_code == 400, wrong
    shown = await token(site, "api", expires_at=(today + timedelta(days=1)).isoformat())
    assert (await call(site, "GET", "/user", person=shown)).status_code == 200
    from models.repositories.accounts.access_tokens import token as table

    async with site.services.database.write() as connection:
        await connection.execute(table.update().where(table.c.expires_on.is_not(None)).values(expires_on=today))
    assert (await call(site, "GET", "/user", person=shown)).status_code == 401
    listed = (await call(site, "GET", "/personal_access_tokens?state=inactive")).json()
    assert [(item["active"], item["revoked"]) for item in listed] == [(False, False)]


async def test_a_token_replaces_and_revokes_itself(site: Site) -> None:
    old = await token(site, "self_rotate", "read_user")
    me = await call(site, "GET", "/personal_access_tokens/self", person=old)
    assert me.json()["scopes"] == ["read_user", "self_rotate"]
    fresh = await call(site, "POST", "/personal_access_tokens/self/rotate", {}, old)
    assert fresh.status_code == 200
    assert (await call(site, "GET", "/user", person=old)).status_code == 401
    new = Person(site.root.id, "root", fresh.json()["token"])
    assert (await call(site, "GET", "/user", person=new)).status_code == 200
    assert fresh.json()["expires_at"] is not None


async def test_a_blocked_persons_tokens_are_worth_nothing(site: Site) -> None:
    from models.repositories.accounts.accounts import user

    person = await site.person("ada")
    assert (await call(site, "GET", "/user", person=person)).status_code == 200
    async with site.services.database.write() as connection:
        await connection.execute(user.update().where(user.c.id == person.id).values(state="blocked"))
    assert (await call(site, "GET", "/user", person=person)).status_code == 401


async def test_people_see_their_own_tokens_only(site: Site) -> None:
    person = await site.person("ada")
    mine = (await call(site, "GET", "/personal_access_tokens", person=person)).json()
    assert {item["user_id"] for item in mine} == {person.id}
    everybody = (await call(site, "GET", "/personal_access_tokens")).json()
    assert {item["user_id"] for item in everybody} == {person.id, site.root.id}
    other = next(item["id"] for item in everybody if item["user_id"] == site.root.id)
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rotate")):
        response = await call(site, method, f"/personal_access_tokens/{other}{path}", {}, person)
        assert response.status_code == 404


@pytest.mark.parametrize("kind", ["projects", "groups"])
async def test_a_bot_has_the_level_of_its_token_where_it_was_made(site: Site, kind: str) -> None:
    project = (await call(site, "GET", f"/projects/{site.world.project_id}")).json()
    key = project["id"] if kind == "projects" else project["namespace"]["id"]
    base = f"/{kind}/{key}/access_tokens"
    made = await call(site, "POST", base, {"name": "ci", "scopes": ["api"], "access_level": 30})
    assert (made.status_code, made.json()["access_level"]) == (201, 30)
    bot = Person(made.json()["user_id"], "bot", made.json()["token"])
    assert (await call(site, "GET", "/user", person=bot)).json()["bot"] is True
    assert (await call(site, "GET", f"/projects/{project['id']}/pipelines", person=bot)).status_code == 200
    assert (await call(site, "GET", f"/projects/{project['id']}/variables", person=bot)).status_code == 403
    listed = (await call(site, "GET", base)).json()
    assert [(item["name"], item["access_level"], "token" in item) for item in listed] == [("ci", 30, False)]
    fresh = (await call(site, "POST", f"{base}/{listed[0]['id']}/rotate", {})).json()
    assert (await call(site, "GET", "/user", person=bot)).status_code == 401
    assert (await call(site, "DELETE", f"{base}/{fresh['id']}")).status_code == 204
    again = Person(bot.id, "bot", fresh["token"])
    assert (await call(site, "GET", "/user", person=again)).status_code == 401


async def test_nobody_gives_a_bot_more_than_he_has(site: Site) -> None:
    maintainer = await site.person("maint", 40)
    base = f"/projects/{site.world.project_id}/access_tokens"
    body = {"name": "ci", "scopes": ["api"], "access_level": 50}
    assert (await call(site, "POST", base, body, maintainer)).status_code == 403
    assert (await call(site, "POST", base, {**body, "access_level": 40}, maintainer)).status_code == 201


@pytest.mark.parametrize("level", [10, 15, 20, 30, 40, 50])
async def test_nobody_gets_hold_of_a_token_that_may_do_more(site: Site, level: int) -> None:
    """Whoever rotates a token holds the new one, and is its bot."""
    maintainer = await site.person("maint", 40)
    base = f"/projects/{site.world.project_id}/access_tokens"
    made = (await call(site, "POST", base, {"name": "ci", "scopes": ["api"], "access_level": level})).json()
    bot = Person(made["user_id"], "bot", made["token"])
    may = level <= 40
    rotated = await call(site, "POST", f"{base}/{made['id']}/rotate", {}, maintainer)
    assert (rotated.status_code, "token" in rotated.json()) == ((200, True) if may else (403, False))
    assert (await call(site, "GET", "/user", person=bot)).status_code == (401 if may else 200)
    left = rotated.json()["id"] if may else made["id"]
    assert (await call(site, "DELETE", f"{base}/{left}", person=maintainer)).status_code == (204 if may else 403)


async def test_a_token_rotates_none_that_has_further_scopes(site: Site) -> None:
    large = await call(site, "POST", "/user/personal_access_tokens", {"name": "large", "scopes": ["api"]})
    small = await token(site, "self_rotate", "read_user")
    refused = await call(site, "POST", f"/personal_access_tokens/{large.json()['id']}/rotate", {}, small)
    assert (refused.status_code, "token" in refused.json()) == (403, False)
