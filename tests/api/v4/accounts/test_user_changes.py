"""People are made, changed and blocked by administrators."""

import gitlab
import pytest

from auth.session_token import COOKIE, issue_session
from models.repositories.accounts import accounts
from models.rows.accounts import UserRow
from tests.api.v4.site import Site, serving

NEW = {"username": "ada", "name": "Ada L", "email": "ada@example.com"}


async def row_of(site: Site, user_id: int) -> UserRow:
    """The person's row."""
    async with site.services.database.read() as connection:
        row: UserRow = await accounts.get(connection, user_id)
        return row


@pytest.mark.parametrize(("password", "fault"), [("x" * 7, "is too short"), ("x" * 129, "is too long")])
async def test_a_password_has_8_to_128_characters(site: Site, password: str, fault: str) -> None:
    async with site.client(site.root) as client:
        response = await client.post("/api/v4/users", json={**NEW, "password": password})
        assert response.status_code == 400
        assert fault in response.json()["message"]["password"][0]
        assert (await client.get("/api/v4/users", params={"username": "ada"})).json() == []
        made = await client.post("/api/v4/users", json={**NEW, "password": "x" * 128})
        assert made.status_code == 201
        refused = await client.put(f"/api/v4/users/{made.json()['id']}", json={"password": password})
    assert (refused.status_code, fault in refused.text) == (400, True)
    row = await row_of(site, made.json()["id"])
    assert row.password_hash.startswith("$argon2id$")
    assert "password" not in made.text.replace("password_", "")


async def test_a_random_password_is_none(site: Site) -> None:
    async with site.client(site.root) as client:
        for name, more in (("a", {"force_random_password": True}), ("b", {"reset_password": True}), ("c", {})):
            person = {"username": name, "name": name, "email": f"{name}@example.com", **more}
            made = await client.post("/api/v4/users", json={"password": "long enough", **person} if more else person)
            assert made.status_code == 201
            assert (await row_of(site, made.json()["id"])).password_hash == ""


async def test_an_administrator_changes_a_person(site: Site) -> None:
    eve, friend = await site.person("eve"), await site.person("friend")
    address = f"/api/v4/users/{eve.id}"
    async with site.client(site.root) as client:
        changes = {"name": "Eve A", "email": "new@example.com", "admin": True, "external": True}
        changed = await client.put(address, json=changes)
        taken = await client.put(address, json={"email": "FRIEND@example.com"})
        again = await client.post("/api/v4/users", json={**NEW, "email": "new@example.com"})
        unknown = await client.put("/api/v4/users/9999", json={"name": "x"})
        events = (await client.get("/api/v4/audit_events", params={"entity_type": "User"})).json()
    document = changed.json()
    assert changed.status_code == 200
    assert (document["name"], document["email"], document["is_admin"], document["external"]) == (
        "Eve A",
        "new@example.com",
        True,
        True,
    )
    assert (taken.status_code, taken.json()) == (409, {"message": "Email has already been taken"})
    assert (again.status_code, unknown.status_code) == (409, 404)
    assert events
    async with site.client(friend) as client:
        for method, path in (("PUT", address), ("POST", f"{address}/block"), ("POST", f"{address}/unblock")):
            assert (await client.request(method, path, json={"admin": True})).status_code == 403


async def test_a_blocked_person_has_nothing(site: Site) -> None:
    eve = await site.person("eve")
    session = {COOKIE: issue_session(site.services.key, eve.id, site.services.clock())}

    async def me() -> tuple[int, int]:
        async with site.client(eve) as by_token, site.client(cookies=session) as by_session:
            return (
                (await by_token.get("/api/v4/user")).status_code,
                (await by_session.get("/api/v4/user")).status_code,
            )

    assert await me() == (200, 200)
    async with site.client(site.root) as client:
        blocked = await client.post(f"/api/v4/users/{eve.id}/block")
        assert (blocked.status_code, blocked.json()) == (201, True)
        assert (await client.get(f"/api/v4/users/{eve.id}")).json()["state"] == "blocked"
        assert await me() == (401, 401)
        assert (await client.post(f"/api/v4/users/{eve.id}/unblock")).json() is True
        assert await me() == (200, 401), "sessions of the time before stay ended"
        own = await client.post(f"/api/v4/users/{site.root.id}/block")
        assert (await client.get("/api/v4/audit_events")).json()[0]["event_name"] == "user_unblocked"
    assert own.status_code == 403


async def test_a_new_password_ends_sessions_and_leaves_tokens(site: Site) -> None:
    eve = await site.person("eve")
    session = {COOKIE: issue_session(site.services.key, eve.id, site.services.clock())}
    async with site.client(site.root) as client:
        changed = await client.put(f"/api/v4/users/{eve.id}", json={"password": "long enough"})
        assert changed.status_code == 200
        events = (await client.get("/api/v4/audit_events")).text
    assert "long enough" not in changed.text + events
    assert "argon2" not in changed.text + events
    async with site.client(eve) as by_token, site.client(cookies=session) as by_session:
        assert (await by_token.get("/api/v4/user")).status_code == 200
        assert (await by_session.get("/api/v4/user")).status_code == 401


async def test_python_gitlab_makes_changes_and_blocks_people(site: Site) -> None:
    import asyncio

    def script(url: str) -> None:
        with gitlab.Gitlab(url, private_token=site.root.token) as api:
            user = api.users.create({**NEW, "password": "long enough"})
            user.name = "Ada"
            user.save()
            assert api.users.get(user.id).name == "Ada"
            user.block()
            assert api.users.get(user.id).state == "blocked"
            user.unblock()
            assert api.users.get(user.id).state == "active"

    async with serving(site) as url:
        await asyncio.to_thread(script, url)
