"""Signing in at a real provider: who comes in, as whom, and what attackers get."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from auth.oidc.login_attempt import COOKIE as ATTEMPT
from auth.session_token import COOKIE
from models.notifications import RUNNERS
from models.repositories.accounts import accounts, identities, visits
from rigs.ports import LOCAL, free_port
from settings import OidcSettings
from tests.api.v4.site import Site, open_site
from tests.oidc.running_provider import installed, running_provider, through_its_pages

START = "/users/auth/oidc"


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The provider's code, in a folder of the run."""
    return installed(tmp_path_factory.mktemp("oidc-provider"))


@dataclass
class Meeting:
    """An installation and the provider it trusts."""

    site: Site
    issuer: str

    def browser(self) -> httpx.AsyncClient:
        return self.site.client(headers={"Accept": "text/html", "Origin": self.site.services.settings.url})

    async def begun(self, client: httpx.AsyncClient, then: str = "/") -> str:
        """The provider's address to which a browser is sent."""
        response = await client.get(START, params={"next": then})
        assert response.status_code == 303, response.text
        return response.headers["location"]

    async def answered(self, client: httpx.AsyncClient, login: str, then: str = "/") -> str:
        """Our address to which the provider sends a browser back."""
        url = self.site.services.settings.url
        return await through_its_pages(await self.begun(client, then), login, url)

    async def signed_in(self, client: httpx.AsyncClient, login: str, then: str = "/") -> httpx.Response:
        """The whole way."""
        return await client.get(await self.answered(client, login, then))


@asynccontextmanager
async def met(module: Path, folder: Path, database_url: str, **more: Any) -> AsyncIterator[Meeting]:
    port = free_port()
    issuer = f"http://{LOCAL}:{port}"
    oidc = OidcSettings(
        **{"issuer": issuer, "client_id": "perdure", "client_secret": "secret of the tests", "label": "Acme", **more}
    )
    async with open_site(folder, database_url, oidc=oidc) as site:
        redirect = f"{site.services.settings.url}{START}/callback"
        async with running_provider(module, port, redirect):
            yield Meeting(site, issuer)


async def me(client: httpx.AsyncClient) -> Any:
    response = await client.get("/api/v4/user")
    return response.json() if response.status_code == 200 else {}


def refused(response: httpx.Response, client: httpx.AsyncClient, words: str, status: int = 401) -> None:
    """One clear page, and no session."""
    assert response.status_code == status, response.text
    assert words in response.text
    assert "Sign in with Acme" in response.text
    assert COOKIE not in client.cookies
    assert COOKIE + "=" not in response.headers.get("set-cookie", "")


async def test_a_deep_link_leads_to_the_provider_and_back(module: Path, tmp_path: Path, database_url: str) -> None:
    there = "/some/where/-/pipelines/7?page=2&x=1"
    async with met(module, tmp_path, database_url, create_accounts=True) as meeting, meeting.browser() as client:
        page = await client.get(there)
        (link,) = re.findall(r'href="(/users/auth/oidc[^"]*)"', page.text)
        (then,) = parse_qs(urlsplit(unescape(link)).query)["next"]
        response = await meeting.signed_in(client, "ada", then)
        assert (response.status_code, response.headers["location"]) == (303, there)


async def test_somebody_new_gets_an_account_and_keeps_it(module: Path, tmp_path: Path, database_url: str) -> None:
    async with met(module, tmp_path, database_url, create_accounts=True, admin_group="bosses") as meeting:
        for login, is_admin in (("ada", False), ("boss", True), ("root", False)):
            ids = set()
            for _ in range(2):
                async with meeting.browser() as client:
                    response = await meeting.signed_in(client, login, "/-/profile/password?x=1")
                    assert (response.status_code, response.headers["location"]) == (303, "/-/profile/password?x=1")
                    cookie = response.headers["set-cookie"].lower()
                    assert "httponly" in cookie
                    assert "samesite=lax" in cookie
                    assert ATTEMPT not in client.cookies
                    user = await me(client)
                    ids.add(user["id"])
            assert len(ids) == 1
            assert (user["name"], user["email"]) == (f"{login} of the provider", f"{login}@example.com")
            assert user["username"] == ("root1" if login == "root" else login), "nobody becomes another by their name"
            assert user["is_admin"] is is_admin
            assert user["identities"] == [{"provider": "openid_connect", "extern_uid": login}]
        async with meeting.site.client(meeting.site.root) as client:
            seen = (await client.get("/api/v4/users", params={"username": "ada"})).json()[0]
            assert seen["identities"][0]["extern_uid"] == "ada"
            await client.post(f"/api/v4/users/{seen['id']}/block")
        async with meeting.browser() as client:
            refused(await meeting.signed_in(client, "ada"), client, "blocked", 403)


async def test_whoever_comes_is_told_to_runners_that_are_the_servers_user(module: Path, tmp_path: Path) -> None:
    """Once for each account that is made or becomes another's; signing in again is no news."""
    async with met(module, tmp_path, "", create_accounts=True, admin_group="bosses") as meeting:
        told = list[str]()
        meeting.site.services.notifications.listen(RUNNERS, told.append)
        for login, news in (("ada", 1), ("ada", 1), ("boss", 2)):
            async with meeting.browser() as client:
                await meeting.signed_in(client, login)
            assert len(told) == news, login


async def test_unknown_people_come_in_only_where_that_is_wanted(module: Path, tmp_path: Path) -> None:
    async with met(module, tmp_path, "") as meeting, meeting.browser() as client:
        refused(await meeting.signed_in(client, "ada"), client, "no account here", 403)
    more = {"create_accounts": True, "email_domains": "elsewhere.example"}
    async with met(module, tmp_path / "b", "", **more) as meeting, meeting.browser() as client:
        refused(await meeting.signed_in(client, "ada"), client, "certain domains", 403)
    async with met(module, tmp_path / "c", "", create_accounts=True) as meeting, meeting.browser() as client:
        refused(await meeting.signed_in(client, "unverified"), client, "not verified", 403)


async def test_the_row_of_a_visitor_is_linked_to_nobody(module: Path, tmp_path: Path) -> None:
    """They sign in at home; a link would let them in without a ticket."""
    async with met(module, tmp_path, "", link_accounts=True, create_accounts=True) as meeting:
        services = meeting.site.services
        async with services.database.write() as connection:
            values = {"name": "Eve", "email": "eve@example.com", "home_pod": 7, "home_id": 1}
            key = await visits.add(connection, "eve-of-7", services.clock(), **values)
            assert key is not None
        async with meeting.browser() as client:
            refused(
                await meeting.signed_in(client, "eve"), client, "is a visitor here; use the sign-in page in pod 7", 403
            )
        async with services.database.read() as connection:
            assert await identities.of_people(connection, [key]) == {}


@pytest.mark.parametrize(("login", "permitted", "comes_in"), [("eve", True, True), ("eve", False, False)])
async def test_an_account_is_linked_by_a_verified_address_only_if_permitted(
    module: Path, tmp_path: Path, login: str, permitted: bool, comes_in: bool
) -> None:
    settings = {"link_accounts": permitted, "create_accounts": True}
    async with met(module, tmp_path, "", **settings) as meeting, meeting.browser() as client:
        eve = await meeting.site.person("eve")
        unverified = await meeting.site.person("unverified")
        response = await meeting.signed_in(client, login)
        if comes_in:
            assert (await me(client))["id"] == eve.id
        else:
            refused(response, client, "not linked", 403)
        async with meeting.browser() as other:
            refused(await meeting.signed_in(other, "unverified"), other, "not verified", 403)
        async with meeting.site.services.database.read() as connection:
            known = await identities.of_people(connection, [eve.id, unverified.id])
        assert list(known) == ([eve.id] if comes_in else [])


def changed(address: str, **values: str) -> str:
    """An address with other values in its query."""
    parts = urlsplit(address)
    query = {name: found[0] for name, found in parse_qs(parts.query).items()} | values
    return parts._replace(query=urlencode(query)).geturl()


async def test_forged_answers_begin_no_session(module: Path, tmp_path: Path) -> None:
    async with met(module, tmp_path, "", create_accounts=True) as meeting:
        async with meeting.browser() as client:
            address = await meeting.answered(client, "ada")
            refused(await client.get(changed(address, state="x")), client, "does not belong")
        async with meeting.browser() as client:
            address = await meeting.answered(client, "ada")
            refused(await client.get(changed(address, iss="http://evil.example")), client, "not one of the provider")
        async with meeting.browser() as client:
            address = await meeting.answered(client, "ada")
            refused(await client.get(changed(address, code="x")), client, "does not accept")
        async with meeting.browser() as client:
            address = changed(await meeting.answered(client, "ada"), error="access_denied", error_description="EVIL")
            response = await client.get(address)
            refused(response, client, "did not let you in")
            assert "EVIL" not in response.text
        async with meeting.browser() as victim, meeting.browser() as attacker:
            address = await meeting.answered(attacker, "mallory")
            refused(await victim.get(address), victim, "began no sign-in")
            state = parse_qs(urlsplit(await meeting.begun(victim)).query)["state"][0]
            response = await victim.get(changed(address, state=state))
            refused(response, victim, "does not accept")  # PKCE: the code was given for another verifier
        async with meeting.site.services.database.read() as connection:
            assert await accounts.by_username(connection, "mallory") is None


async def test_a_code_is_good_once(module: Path, tmp_path: Path) -> None:
    async with met(module, tmp_path, "", create_accounts=True) as meeting, meeting.browser() as client:
        address = await meeting.answered(client, "ada")
        copied = client.cookies[ATTEMPT]
        assert (await client.get(address)).status_code == 303
        async with meeting.browser() as thief:
            thief.cookies.set(ATTEMPT, copied)
            refused(await thief.get(address), thief, "does not accept")


@pytest.mark.parametrize("then", ["https://evil.example", "//evil.example", "/\\evil.example", "/" + "x" * 3000])
async def test_nobody_is_led_away(module: Path, tmp_path: Path, then: str) -> None:
    async with met(module, tmp_path, "", create_accounts=True) as meeting, meeting.browser() as client:
        response = await meeting.signed_in(client, "ada", then)
        assert (response.status_code, response.headers["location"]) == (303, "/")


async def test_a_provider_that_is_away_is_said_so(tmp_path: Path) -> None:
    oidc = OidcSettings(issuer=f"http://{LOCAL}:{free_port()}", client_id="perdure", label="Acme")
    async with open_site(tmp_path, "", oidc=oidc) as site, site.client(headers={"Accept": "text/html"}) as client:
        refused(await client.get(START), client, "does not answer", 503)


async def test_without_a_provider_there_is_no_such_page(tmp_path: Path) -> None:
    async with open_site(tmp_path, "") as site, site.client() as client:
        for path in (START, f"{START}/callback"):
            assert (await client.get(path)).status_code == 404
        assert "Sign in with" not in (await client.get("/users/sign_in")).text
