"""Signing in by password or access token, changing one's password, signing out."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher

from api.startup import CREDENTIALS
from auth.passwords import Passwords
from auth.secret_token import digest, plain_token
from auth.session_token import COOKIE
from domain.pods.token_prefixes import PERSONAL
from models.repositories.accounts import accounts
from settings import RefusalLimits
from tests import forms
from tests.api.v4.site import Person, Site, open_site
from tests.waiting import eventually

PASSWORD = "correct horse"
PAGE = "/-/profile/password"


def browser(site: Site, **options: Any) -> httpx.AsyncClient:
    """A browser on one of our pages."""
    headers = {"Accept": "text/html", "Origin": site.services.settings.url}
    return site.client(headers=headers | options.pop("headers", {}), **options)


async def ada(site: Site, **values: Any) -> Person:
    """A person with a password."""
    person = await site.person("ada", 30)
    values = {"password_hash": await site.services.passwords.hashed(PASSWORD), **values}
    async with site.services.database.write() as connection:
        await accounts.change(connection, person.id, **values)
    return person


async def sign_in(client: httpx.AsyncClient, username: str, password: str) -> httpx.Response:
    """Send the form."""
    return await client.post("/users/sign_in", data={"username": username, "password": password})


async def me(client: httpx.AsyncClient) -> int:
    """Whether the browser is signed in."""
    return (await client.get("/api/v4/user")).status_code


@pytest.mark.parametrize("username", ["ada", "ada@example.com", "ADA@example.com", " ada "])
async def test_name_or_address_and_password_or_token_are_good(site: Site, username: str) -> None:
    person = await ada(site)
    for secret in (PASSWORD, person.token):
        async with browser(site) as client:
            assert (await sign_in(client, username, secret)).status_code == 303
            assert await me(client) == 200


async def test_every_refusal_is_the_same(site: Site) -> None:
    person = await ada(site)
    narrow = plain_token(PERSONAL)
    async with site.services.database.write() as connection:
        now = site.services.clock()
        await accounts.add_token(connection, person.id, "narrow", digest(narrow), now, scopes=("read_api",))
        await accounts.create_user(connection, "twin", "Twin", "twin@example.com", now)
        await accounts.create_user(connection, "other", "Twin", "twin@example.com", now)
        hashed = await site.services.passwords.hashed(PASSWORD)
        robot = await accounts.create_user(connection, "robot", "R", "r@x", now, bot=True, password_hash=hashed)
        gone = await accounts.create_user(connection, "gone", "G", "g@x", now, state="blocked", password_hash=hashed)
    assert robot < gone
    pairs = [("ada", "wrong"), ("ada", ""), ("nobody", PASSWORD), ("root", person.token), ("ada", site.root.token)]
    pairs += [("ada", narrow), ("twin@example.com", PASSWORD), ("robot", PASSWORD), ("gone", PASSWORD), ("", "")]
    texts = set()
    for username, secret in pairs:
        async with browser(site) as client:
            response = await sign_in(client, username, secret)
            assert (response.status_code, COOKIE in client.cookies) == (401, False), username
            texts.add(response.text.replace(f'value="{username}"', 'value=""'))
    assert len(texts) == 1


async def test_signing_out_ends_the_session_that_somebody_copied(site: Site) -> None:
    await ada(site)
    async with browser(site) as client, browser(site) as other:
        for each in (client, other):
            await sign_in(each, "ada", PASSWORD)
        copied = {COOKIE: client.cookies[COOKIE]}
        assert (await client.post("/users/sign_out")).status_code == 303
        async with browser(site, cookies=copied) as thief:
            assert await me(thief) == 401
            assert (await thief.post("/users/sign_out")).status_code == 303
        assert await me(other) == 200


async def test_a_session_ends_with_the_token_it_began_with(site: Site) -> None:
    person = await ada(site)
    async with browser(site) as by_token, browser(site) as by_password, site.client(person) as api:
        await sign_in(by_token, "ada", person.token)
        await sign_in(by_password, "ada", PASSWORD)
        assert (await api.delete("/api/v4/personal_access_tokens/self")).status_code == 204
        assert (await me(by_token), await me(by_password)) == (401, 200)


async def test_changing_the_password_ends_all_other_sessions(site: Site) -> None:
    await ada(site)
    form = {"old": PASSWORD, "new": "battery staple", "again": "battery staple"}
    async with browser(site) as client, browser(site) as other, browser(site) as stranger:
        for each in (client, other):
            await sign_in(each, "ada", PASSWORD)
        assert (await client.get(PAGE)).status_code == 200
        for faulty, status in (
            ({"old": "wrong"}, 401),
            ({"again": "x"}, 400),
            ({"new": "short", "again": "short"}, 400),
        ):
            response = await client.post(PAGE, data={**form, **faulty})
            assert (response.status_code, "Nothing was changed" in response.text) == (status, True)
        foreign = await client.post(PAGE, data=form, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        assert await me(other) == 200
        changed = await client.post(PAGE, data=form)
        assert (changed.status_code, changed.headers["location"]) == (303, f"{PAGE}?notice=password")
        assert (await me(client), await me(other)) == (200, 401)
        assert "is changed" in (await client.get(changed.headers["location"])).text
        assert (await sign_in(other, "ada", PASSWORD)).status_code == 401
        assert (await sign_in(other, "ada", "battery staple")).status_code == 303
        for method in ("GET", "POST"):
            away = await stranger.request(method, PAGE, data=form if method == "POST" else None)
            assert (away.status_code, away.headers["location"]) == (303, f"/users/sign_in?next={PAGE}")
    async with site.client(site.root) as client:
        event = (await client.get("/api/v4/audit_events")).json()[0]
    assert event["event_name"] == "password_changed"


async def test_who_has_no_password_sets_the_first_one_with_a_token(site: Site) -> None:
    person = await ada(site, password_hash="")
    form = {"new": PASSWORD, "again": PASSWORD}
    async with browser(site) as client:
        await sign_in(client, "ada", person.token)
        assert (await client.post(PAGE, data=form)).status_code == 401
        assert (await client.post(PAGE, data={**form, "old": person.token})).status_code == 303
        assert (await sign_in(client, "ada", PASSWORD)).status_code == 303


async def test_an_outdated_hash_is_renewed(site: Site) -> None:
    older = PasswordHasher(time_cost=1, memory_cost=8192).hash(PASSWORD)
    person = await ada(site, password_hash=older)
    async with browser(site) as client:
        assert (await sign_in(client, "ada", PASSWORD)).status_code == 303
        async with site.services.database.read() as connection:
            row = await accounts.get(connection, person.id)
        assert row.password_hash != older
        assert not site.services.passwords.is_outdated(row.password_hash)
        assert (await sign_in(client, "ada", PASSWORD)).status_code == 303
        assert await me(client) == 200


async def test_guessing_is_slowed_down(tmp_path: Path, database_url: str) -> None:
    import asyncio

    limits = RefusalLimits(prompt_refusals=2, refusal_pause=3_600)
    async with open_site(tmp_path, database_url, refusals=limits) as site, browser(site) as client:
        assert [(await sign_in(client, "root", "guessed")).status_code for _ in range(2)] == [401, 401]
        late = asyncio.create_task(sign_in(client, "root", "guessed"))

        async def held() -> bool:
            return site.services.refusals.held == 1

        await eventually(held, "the third is held back")
        site.services.refusals.let_go()
        assert (await late).status_code == 401


async def test_the_first_administrator_signs_in_with_the_password_of_the_file(tmp_path: Path) -> None:
    async with open_site(tmp_path, "") as site, browser(site) as client:
        known = json.loads((site.services.settings.home / CREDENTIALS).read_text())
        assert (await sign_in(client, "root", known["password"])).status_code == 303
        assert (await sign_in(client, "root", known["token"])).status_code == 303


async def test_a_file_of_an_older_version_has_no_password(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    older = {"url": "x", "username": "root", "token": "glpat-older", "registration_token": "GR1348941older"}
    (home / CREDENTIALS).write_text(json.dumps(older))
    async with open_site(tmp_path, "") as site, browser(site) as client:
        assert (await sign_in(client, "root", "")).status_code == 401
        assert (await sign_in(client, "root", "glpat-older")).status_code == 303


async def test_one_address_never_has_both_threads_of_passwords(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    running, gate = [], asyncio.Event()

    async def waits(_: Passwords, _known: str, secret: str) -> bool:
        running.append(secret)
        await gate.wait()
        return False

    monkeypatch.setattr(Passwords, "is_right", waits)

    async def guess(address: str) -> int:
        transport = httpx.ASGITransport(site.app, client=(address, 1))
        url = site.services.settings.url
        headers = {"Origin": url, **forms.TOKEN}
        async with httpx.AsyncClient(
            transport=transport, base_url=url, headers=headers, cookies=forms.COOKIES
        ) as client:
            return (await sign_in(client, "ada", address)).status_code

    async def have_begun() -> bool:
        return running == ["192.0.2.1", "192.0.2.2"]

    guesses = [asyncio.create_task(guess("192.0.2.1")) for _ in range(4)]
    await asyncio.sleep(0)
    guesses.append(asyncio.create_task(guess("192.0.2.2")))
    await eventually(have_begun, "the other address has its turn")
    gate.set()
    assert await asyncio.gather(*guesses) == [401] * 5
