"""People of another pod by REST: made members before they ever came, and changed at home alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from auth.session_token import cookie_of
from models.repositories.accounts import accounts
from models.repositories.installation import audit
from models.repositories.paging import every_of
from tests.api.pages.accounts.two_pods import PASSWORD, Pods, pods_of_a_cluster
from tests.forms import COOKIES

pytestmark = pytest.mark.slow
"""Two pods for each test; a second and more of each."""

HOME, AWAY, THIRD = 0, 1, 2
UNKNOWN = {"message": "404 User Not Found"}


@pytest.fixture
async def pods(tmp_path: Path, migrated_file: Path) -> AsyncIterator[Pods]:
    """Ada is at home in the first pod; the second one has an organisation, the third one another."""
    async with pods_of_a_cluster(tmp_path, migrated_file) as cluster:
        await cluster.add_person(HOME, "Ada")
        await cluster.project(AWAY, "acme")
        await cluster.project(THIRD, "globex")
        yield cluster


async def people(pods: Pods, pod: int) -> dict[str, int | None]:
    """The home pods of everybody of a pod, by name."""
    async with pods.sites[pod].services.database.read() as connection:
        rows = (await connection.execute(accounts.user.select())).all()
    return {row.username: row.home_pod for row in rows}


@pytest.mark.parametrize("owner", ["/groups/acme", "/projects/acme%2Fapp"])
async def test_a_person_of_another_pod_is_made_a_member_by_name_before_they_came(pods: Pods, owner: str) -> None:
    found = await pods.made(AWAY, f"{owner}/members", username="ADA", access_level=30)
    assert (found["username"], found["state"], found["id"] >> 40) == ("ADA", "active", AWAY)
    assert (await people(pods, AWAY))["ADA"] == HOME
    again = await pods.made(AWAY, f"{owner}/members", 409, username="ada", access_level=30)
    assert again == {"message": "Member already exists"}
    async with pods.browser() as browser:
        await pods.sign_in(browser, "Ada")
        assert (await browser.get("/acme/app")).status_code == 200
    assert [name for name in await people(pods, AWAY) if name.lower() == "ada"] == ["Ada"], "as it is written at home"
    async with pods.sites[AWAY].services.database.read() as connection:
        events = await every_of(connection, audit.events("user"))
    assert [(event.event, event.details, event.author_name) for event in events] == [
        ("user_changed", {"username": "Ada"}, "ADA"),
        ("user_created", {"home_pod": HOME}, "root-away"),
    ]


@pytest.mark.parametrize("name", ["globex", "acme", "nobody", "", "a/b", "-", "ada@example.com", "u" * 255])
async def test_an_organisation_and_a_name_that_nobody_has_become_nobody(pods: Pods, name: str) -> None:
    before = await people(pods, AWAY)
    async with pods.sites[AWAY].client(pods.sites[AWAY].root) as client:
        response = await client.post("/api/v4/groups/acme/members", json={"username": name, "access_level": 30})
    assert response.status_code == (404 if name else 400)
    if name:
        assert response.json() == UNKNOWN
    assert await people(pods, AWAY) == before


async def test_a_name_that_is_only_begun_to_be_taken_is_nobodys(pods: Pods) -> None:
    claim = {"kind": "path", "name": "begun", "pod": HOME}
    status, _ = await pods.directory.call("PUT", "/v1/claims/00000000-0000-4000-8000-000000000001", body=claim)
    assert status == 200
    assert await pods.made(AWAY, "/groups/acme/members", 404, username="begun", access_level=30) == UNKNOWN


async def test_only_who_may_add_members_makes_a_row(pods: Pods) -> None:
    await pods.add_person(AWAY, "bob")
    site = pods.sites[AWAY]
    row = await pods.made(AWAY, "/groups/acme/members", username="bob", access_level=30)
    bob = await site.with_token(row["id"], "bob")
    async with site.client(bob) as client:
        response = await client.post("/api/v4/groups/acme/members", json={"username": "Ada", "access_level": 30})
    assert response.status_code == 403
    assert "Ada" not in await people(pods, AWAY)


async def test_while_the_directory_is_away_new_visitors_wait_and_known_ones_do_not(pods: Pods) -> None:
    pods.lines[AWAY].is_cut = True
    refused = await pods.made(AWAY, "/groups/acme/members", 503, username="ada", access_level=30)
    assert "The directory of the pods is away" in refused["message"]
    pods.lines[AWAY].is_cut = False
    await pods.made(AWAY, "/groups/acme/members", username="ada", access_level=30)
    pods.lines[AWAY].is_cut = True
    await pods.made(AWAY, "/projects/acme%2Fapp/members", username="ada", access_level=30)


async def test_what_is_of_home_is_changed_there(pods: Pods) -> None:
    site = pods.sites[AWAY]
    found = await pods.made(AWAY, "/groups/acme/members", username="Ada", access_level=40)
    address = f"/api/v4/users/{found['id']}"
    async with site.client(site.root) as client:
        for field, value, words in (
            ("name", "A", "change the name"),
            ("email", "a@b.example", "change the e-mail address"),
            ("password", "not a word 1", "set the password"),
        ):
            response = await client.put(address, json={field: value})
            expected = f"403 Forbidden: Ada is a visitor here; {words} in pod home."
            assert (response.status_code, response.json()["message"]) == (403, expected)
        assert (await client.put(address, json={"admin": True, "external": True})).status_code == 200
        token = await client.post(f"{address}/impersonation_tokens", json={"name": "t", "scopes": ["api"]})
        plain = token.json()["token"]
    async with pods.browser() as client:
        client.headers.update({"private-token": plain, "accept": "application/json"})
        assert (await client.get("/api/v4/user")).json()["id"] == found["id"]
        assert pods.went[-1] == (AWAY, "/api/v4/user"), "a token of a pod opens that pod"
        made = await client.post("/api/v4/projects", json={"name": "mine"})
        assert (made.status_code, "make your own projects in pod home" in made.text) == (403, True)


async def test_nobody_signs_in_as_a_visitor_by_what_the_visited_pod_knows(pods: Pods) -> None:
    """Asked directly: by the router the form goes home anyhow."""
    site = pods.sites[AWAY]
    found = await pods.made(AWAY, "/groups/acme/members", username="Ada", access_level=40)
    person = await site.with_token(found["id"], "Ada")
    async with pods.browser() as browser:
        await pods.sign_in(browser, "Ada")
        await browser.get("/acme/app")
        visit = browser.cookies[cookie_of(AWAY)]
    headers = {"Accept": "text/html", "Origin": site.services.settings.url}
    async with site.client(headers=headers) as client:
        for name, secret in (("Ada", person.token), ("ada@example.com", person.token), ("Ada", PASSWORD), ("Ada", "")):
            response = await client.post("/users/sign_in", data={"username": name, "password": secret})
            assert (response.status_code, dict(client.cookies)) == (401, COOKIES)
    async with site.client(headers=headers, cookies={cookie_of(AWAY): visit}) as client:
        for method in ("GET", "POST"):
            response = await client.request(method, "/-/profile/password", data={"old": person.token})
            assert response.status_code == 403
            assert "set the password in pod home" in response.text
