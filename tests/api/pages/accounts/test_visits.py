"""A person of one pod sees what they may see in another one, by one address and one sign-in."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.browser_visits import COOKIE as TICKET
from auth.session_token import LIFETIME, cookie_of, issue_session
from auth.visit_ticket import issue_ticket
from domain.pods.visits import REFUSED, SESSION_FOR, Guest
from models.repositories.accounts import accounts, visits
from models.repositories.installation import audit
from models.repositories.paging import every_of
from models.rows.accounts import UserRow
from tests.api.pages.accounts.two_pods import DOMAIN, PASSWORD, Pods, pods_of_a_cluster
from tests.forms import COOKIES

pytestmark = pytest.mark.slow
"""Two pods for each test; a second and more of each."""

HOME, AWAY, THIRD = 0, 1, 2
SIGN_IN_FIELD = 'name="password"'


@pytest.fixture
async def pods(tmp_path: Path, migrated_file: Path) -> AsyncIterator[Pods]:
    """With Ada, who is at home in the first one."""
    async with pods_of_a_cluster(tmp_path, migrated_file) as cluster:
        await cluster.add_person(HOME, "ada")
        yield cluster


async def row_of(pods: Pods, pod: int, username: str) -> UserRow | None:
    async with pods.sites[pod].services.database.read() as connection:
        return await accounts.by_username(connection, username)


async def ada(pods: Pods, pod: int) -> UserRow:
    row = await row_of(pods, pod, "ada")
    assert row is not None
    return row


async def member(pods: Pods, pod: int, group: str, level: int = 30, status: int = 201, **named: Any) -> Any:
    named = named or {"username": "ada"}
    return await pods.made(pod, f"/groups/{group}/members", status, access_level=level, **named)


def is_sign_in(response: httpx.Response) -> bool:
    return SIGN_IN_FIELD in response.text


async def test_a_member_from_another_pod_opens_a_private_project_with_one_sign_in(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme")
    await member(pods, AWAY, "acme")
    expected = await ada(pods, AWAY)
    assert (expected.home_pod, expected.home_id, expected.email, expected.id >> 40) == (HOME, None, "", AWAY)
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        page = await browser.get(f"/{path}?a=b%2Fc")
        assert (page.status_code, page.url.path, page.url.query) == (200, f"/{path}", b"a=b%2Fc")
        assert "Sign out" in page.text
        assert not is_sign_in(page)
        pods.went.clear()
        assert (await browser.get(f"/{path}")).status_code == 200
        assert pods.went == [(AWAY, f"/{path}")], "one way home is enough"
        assert (await browser.get("/api/v4/user")).json()["username"] == "ada"
        assert pods.went[-1][0] == HOME, "what names no pod is that of home"
    came, home = await ada(pods, AWAY), await ada(pods, HOME)
    assert (came.id, came.name, came.email) == (expected.id, home.name, home.email)
    assert (came.home_pod, came.home_id, came.password_hash) == (HOME, home.id, "")
    async with pods.sites[HOME].services.database.read() as connection:
        assert [row.pod_number for row in await visits.of_person(connection, home.id)] == [AWAY]
    await pods.hear()
    assert "ada" not in [claim["name"] for claim in (await pods.directory.call("GET", f"/v1/claims?pod={AWAY}"))[1]]


async def test_who_signs_in_on_the_way_comes_where_they_wanted_to_go(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme")
    await member(pods, AWAY, "acme")
    async with pods.browser() as browser:
        asked = await browser.get(f"/{path}")
        assert is_sign_in(asked)
        assert len(asked.history) == 0, "nobody is sent around who is signed in nowhere"
        form = {"username": "ada", "password": PASSWORD, "next": f"/{path}"}
        page = await browser.post("/users/sign_in", data=form)
        assert (page.status_code, page.url.path) == (200, f"/{path}")


async def test_a_public_page_is_everybodys_and_its_link_signs_in_by_the_way_home(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme", "public")
    async with pods.browser() as browser:
        page = await browser.get(f"/{path}")
        assert (page.status_code, page.history) == (200, [])
        await pods.sign_in(browser, "ada")
        page = await browser.get(f"/{path}")
        assert (page.status_code, page.history, "Sign out" in page.text) == (200, [], False)
        page = await browser.get(f"/users/sign_in?next=/{path}")
        assert (page.status_code, page.url.path, "Sign out" in page.text) == (200, f"/{path}", True)


async def test_who_may_not_see_a_page_does_not_go_round_and_round(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme")
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        page = await browser.get(f"/{path}")
        assert (page.status_code, is_sign_in(page)) == (404, False)
        pods.went.clear()
        assert (await browser.get(f"/{path}")).status_code == 404
        assert len(pods.went) == 1


async def test_signing_out_ends_every_session_also_for_who_has_copied_it(pods: Pods) -> None:
    paths = [await pods.project(pod, group) for pod, group in ((AWAY, "acme"), (THIRD, "globex"))]
    await member(pods, AWAY, "acme")
    await member(pods, THIRD, "globex")
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        for path in paths:
            assert (await browser.get(f"/{path}")).status_code == 200
        copied = dict(browser.cookies)
        assert set(copied) == {cookie_of(pod) for pod in (HOME, AWAY, THIRD)} | set(COOKIES)
        left = await browser.post("/users/sign_out")
        assert (left.status_code, left.url.path, dict(browser.cookies)) == (200, "/", COOKIES)
        for path in paths:
            assert is_sign_in(await browser.get(f"/{path}"))
    for path in (*paths, "-/profile/password"):
        async with pods.browser(cookies=copied) as thief:
            assert is_sign_in(await thief.get(f"/{path}")), path


async def test_signing_in_at_one_pod_leaves_the_session_of_another(pods: Pods) -> None:
    await pods.add_person(AWAY, "bob")
    async with pods.browser() as browser:
        for username in ("ada", "bob"):
            await pods.sign_in(browser, username)
        found = []
        for pod in (HOME, AWAY):
            value = browser.cookies[cookie_of(pod)]
            async with pods.sites[pod].client(cookies={cookie_of(pod): value}) as client:
                found.append((await client.get("/api/v4/user")).json()["username"])
        assert found == ["ada", "bob"]


async def test_who_is_blocked_at_home_is_out_everywhere_when_their_hour_is_over(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme")
    await member(pods, AWAY, "acme")
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        assert (await browser.get(f"/{path}")).status_code == 200
        site = pods.sites[AWAY]
        row = await ada(pods, AWAY)
        over = issue_session(site.services.key, row.id, site.services.clock() - SESSION_FOR * 2, home=HOME)
        browser.cookies.set(cookie_of(AWAY), over, domain=DOMAIN)
        again = await browser.get(f"/{path}")
        assert (again.status_code, [each.url.path for each in again.history]) == (
            200,
            [f"/{path}", "/users/visit", f"/-/visits/{AWAY}"],
        ), "a new ticket"
        await pods.made(HOME, f"/users/{(await ada(pods, HOME)).id}/block")
        async with pods.sites[HOME].services.database.read() as connection:
            (blocked, *_) = await every_of(connection, audit.events("user", (await ada(pods, HOME)).id))
        assert (blocked.event, blocked.details) == ("user_blocked", {"visited_pods": [AWAY]}), (
            "there to be blocked, too"
        )
        assert (await browser.get(f"/{path}")).status_code == 200, "until its hour is over"
        browser.cookies.set(cookie_of(AWAY), over, domain=DOMAIN)
        assert is_sign_in(await browser.get(f"/{path}"))
        assert set(browser.cookies) - set(COOKIES) <= {cookie_of(AWAY)}


async def test_the_session_of_a_visitor_ends_after_an_hour_and_is_renewed_on_public_pages_too(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme", "public")
    site = pods.sites[AWAY]
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        await browser.get(f"/users/sign_in?next=/{path}")
        row = await ada(pods, AWAY)
        for age, count in ((SESSION_FOR - timedelta(minutes=1), 0), (SESSION_FOR + timedelta(minutes=1), 3)):
            session = issue_session(site.services.key, row.id, site.services.clock() - age, home=HOME)
            browser.cookies.set(cookie_of(AWAY), session, domain=DOMAIN)
            page = await browser.get(f"/{path}")
            assert (page.status_code, len(page.history), "Sign out" in page.text) == (200, count, True)


async def test_whoever_was_signed_in_long_ago_sees_what_the_anonymous_see(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme", "public")
    hidden = await pods.project(AWAY, "globex")
    cookies = {}
    for pod in (HOME, THIRD, AWAY):
        services = pods.sites[pod].services
        home = HOME if pod == AWAY else None
        cookies[cookie_of(pod)] = issue_session(services.key, 1, services.clock() - LIFETIME * 2, home=home)
    async with pods.browser(cookies=cookies) as browser:
        page = await browser.get(f"/{path}")
        assert (page.status_code, page.url.path) == (200, f"/{path}")
    async with pods.browser(cookies=cookies) as browser:
        assert is_sign_in(await browser.get(f"/{hidden}"))


async def test_an_administrator_of_the_visited_pod_blocks_a_visitor_there(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme")
    row = await member(pods, AWAY, "acme")
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        assert (await browser.get(f"/{path}")).status_code == 200
        await pods.made(AWAY, f"/users/{row['id']}/block")
        page = await browser.get(f"/{path}")
        assert (page.status_code, REFUSED in page.text) == (401, True)
        assert cookie_of(AWAY) not in browser.cookies
        assert (await browser.get("/api/v4/user")).json()["username"] == "ada", "at home nothing has changed"


async def shown(pods: Pods, ticket: str, pod: int = AWAY) -> httpx.Response:
    """What a pod says to a browser with nothing but this ticket."""
    async with pods.browser() as browser:
        browser.cookies.set(TICKET, ticket, domain=DOMAIN, path=f"/-/visits/{pod}")
        response = await browser.get(f"/-/visits/{pod}", follow_redirects=False)
        assert TICKET not in browser.cookies, "it is forgotten whatever comes of it"
        return response


async def test_forged_foreign_late_and_used_tickets_are_refused_in_the_same_words(pods: Pods) -> None:
    home, away, third = (pods.sites[pod].services for pod in (HOME, AWAY, THIRD))
    row, now = await ada(pods, HOME), home.clock()
    target = pods.known.by_number[AWAY]
    guest = Guest(HOME, row.id, "ada", "Ada", "ada@example.com")
    good = issue_ticket(home.key, guest, target, now)
    refused = {
        "forged by the pod that is visited": issue_ticket(away.key, guest, target, now),
        "of a pod where they are not at home": issue_ticket(third.key, guest, target, now),
        "for another pod": issue_ticket(home.key, guest, pods.known.by_number[THIRD], now),
        "late": issue_ticket(home.key, guest, target, now - timedelta(minutes=3)),
        "of nobody": issue_ticket(home.key, Guest(HOME, row.id, "nobody", "N", ""), target, now),
        "a session": issue_session(home.key, row.id, now),
        "changed": good[:-4] + ("AAAA" if good[-4:] != "AAAA" else "BBBB"),
        "nothing": "",
    }
    texts = {}
    for what, ticket in refused.items():
        response = await shown(pods, ticket)
        assert (response.status_code, cookie_of(AWAY) in response.cookies) == (401, False), what
        texts[what] = response.text
    assert await row_of(pods, AWAY, "ada") is None
    first = await shown(pods, good)
    assert (first.status_code, cookie_of(AWAY) in first.cookies) == (303, True)
    texts["used"] = (await shown(pods, good)).text
    await pods.made(AWAY, f"/users/{(await ada(pods, AWAY)).id}/block")
    texts["blocked"] = (await shown(pods, issue_ticket(home.key, guest, target, now))).text
    assert set(texts.values()) == {texts["nothing"]}
    assert REFUSED in texts["nothing"]
    wrong_pod = await shown(pods, issue_ticket(home.key, guest, target, now), THIRD)
    assert wrong_pod.text == texts["nothing"]


@pytest.mark.parametrize(
    "then", ["https://evil.test/", "//evil.test", "/\\evil.test", "javascript:alert(1)", "/a\r\nX: y", "/" + "a" * 2001]
)
async def test_nobody_is_sent_out_of_our_pages(pods: Pods, then: str) -> None:
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        sent = await browser.get("/users/visit", params={"pod": AWAY, "next": then}, follow_redirects=False)
        assert (sent.status_code, sent.headers["location"]) == (303, f"/-/visits/{AWAY}?next=%2F")
        arrived = await browser.get(f"/-/visits/{AWAY}", params={"next": then}, follow_redirects=False)
        assert (arrived.status_code, arrived.headers["location"]) == (303, "/")


async def test_the_ticket_is_in_no_address_and_is_sent_to_one_address_alone(pods: Pods) -> None:
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        sent = await browser.get("/users/visit", params={"pod": AWAY, "next": "/x"}, follow_redirects=False)
        (cookie,) = [line for line in sent.headers.get_list("set-cookie") if line.startswith(f"{TICKET}=")]
        value = cookie.partition("=")[2].partition(";")[0]
        assert value
        assert value not in sent.headers["location"]
        assert {f"path=/-/visits/{AWAY}", "httponly", "samesite=lax", "max-age=60"} <= {
            part.strip().lower() for part in cookie.split(";")
        }
        for pod, status in ((99, 404), (8192, 404), (-1, 404)):
            assert (await browser.get("/users/visit", params={"pod": pod})).status_code == status
        assert (await browser.get("/users/visit", params={"pod": HOME, "next": "/x"})).url.path == "/x"


async def test_a_visitor_gets_no_ticket_of_a_pod_they_visit(pods: Pods) -> None:
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        await browser.get("/users/visit", params={"pod": AWAY})
        visit = browser.cookies[cookie_of(AWAY)]
    async with pods.browser(cookies={cookie_of(AWAY): visit}) as browser:
        page = await browser.get("/users/visit", params={"pod": THIRD, "next": "/x"})
        assert pods.went[-1] == (AWAY, "/users/visit")
        assert is_sign_in(page)
        assert is_sign_in(await browser.get("/users/sign_in", params={"next": f"/{await pods.project(THIRD, 'acme')}"}))
        assert await row_of(pods, THIRD, "ada") is None


async def test_while_home_is_away_the_visited_pod_goes_on_for_those_who_are_in(pods: Pods) -> None:
    path, public = await pods.project(AWAY, "acme"), await pods.project(AWAY, "globex", "public")
    await member(pods, AWAY, "acme")
    async with pods.browser() as browser:
        await pods.sign_in(browser, "ada")
        assert (await browser.get(f"/{path}")).status_code == 200
        pods.away.add(HOME)
        assert (await browser.get(f"/{path}")).status_code == 200
        del browser.cookies[cookie_of(AWAY)]
        assert (await browser.get(f"/{public}")).status_code == 200
        assert (await browser.get(f"/{path}")).status_code == 503


async def test_without_a_cluster_there_are_no_visits(pods: Pods) -> None:
    async with pods.sites[HOME].client(headers={"Accept": "text/html"}) as client:
        object.__setattr__(pods.sites[HOME].services, "cluster", None)
        for path in ("/users/visit?pod=1", "/-/visits/0"):
            assert (await client.get(path)).status_code == 404


async def test_a_visitor_makes_tokens_of_the_pod_that_they_visit(pods: Pods) -> None:
    path = await pods.project(AWAY, "acme")
    await member(pods, AWAY, "acme")
    tokens = f"/-/visits/{AWAY}/personal_access_tokens"
    async with pods.browser() as browser:
        assert is_sign_in(await browser.get(tokens))
        await pods.sign_in(browser, "ada")
        page = await browser.get(tokens)
        assert (page.status_code, page.url.path) == (200, tokens), "after a way home"
        assert f'href="{tokens}"' in (await browser.get(f"/{path}")).text
        made = await browser.post(tokens, data={"name": "mine", "scopes": ["api"]})
        assert made.status_code == 201
        plain = made.text.partition("glpat-")[2].partition("<")[0].partition('"')[0]
        row = await ada(pods, AWAY)
        (revoke,) = set(re.findall(rf"{tokens}/\d+/revoke", made.text))
        assert "mine" not in (await browser.get("/-/profile/personal_access_tokens")).text, "those of home"
        for pod, status in ((HOME, 401), (AWAY, 200)):
            async with pods.sites[pod].client(headers={"PRIVATE-TOKEN": f"glpat-{plain}"}) as client:
                response = await client.get("/api/v4/user")
            assert response.status_code == status
        assert response.json()["id"] == row.id
        revoked = await browser.post(revoke)
        assert (revoked.status_code, revoked.url.path) == (200, tokens)
        async with pods.sites[AWAY].client(headers={"PRIVATE-TOKEN": f"glpat-{plain}"}) as client:
            assert (await client.get("/api/v4/user")).status_code == 401


async def test_a_visit_that_a_token_began_makes_no_tokens(pods: Pods) -> None:
    """Home alone knows when the token ends with which somebody signed in there."""
    await pods.project(AWAY, "acme")
    await member(pods, AWAY, "acme")
    person = await pods.sites[HOME].with_token((await ada(pods, HOME)).id, "ada")
    tokens = f"/-/visits/{AWAY}/personal_access_tokens"
    async with pods.browser() as browser:
        await browser.post("/users/sign_in", data={"username": "ada", "password": person.token})
        page = await browser.get(tokens)
        assert (page.status_code, page.url.path) == (200, tokens)
        made = await browser.post(tokens, data={"name": "mine", "scopes": ["api"]})
        assert (made.status_code, "with your password" in made.text) == (403, True)
