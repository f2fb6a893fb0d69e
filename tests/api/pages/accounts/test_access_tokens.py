"""The page of personal access tokens: made and shown once, listed, revoked, by their own person and from our pages."""

import re
from datetime import timedelta

import httpx

from api.pages.accounts.access_tokens import TOKENS
from tests.api.pages.accounts.test_sign_in import PASSWORD, ada, browser, sign_in
from tests.api.v4.site import Site

SHOWN = re.compile(r'value="(glpat-[^"]+)"')


async def revoke(client: httpx.AsyncClient, key: int, **headers: str) -> httpx.Response:
    """Press the button beside a token."""
    return await client.post(f"{TOKENS}/{key}/revoke", headers=headers)


async def test_a_token_is_made_shown_once_and_revoked(site: Site) -> None:
    person = await ada(site)
    ends = (site.services.clock() + timedelta(days=30)).date().isoformat()
    form = {"name": "<b>laptop</b>", "scopes": ["read_api", "read_repository"], "expires_at": ends}
    async with browser(site) as client:
        await sign_in(client, "ada", PASSWORD)
        made = await client.post(TOKENS, data=form)
        assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
        assert "default-src 'none'" in made.headers["content-security-policy"]
        (token,) = SHOWN.findall(made.text)
        assert "&lt;b&gt;laptop" in made.text
        assert "<b>laptop" not in made.text
        again = await client.get(TOKENS)
        assert (token in again.text, "read_api, read_repository" in again.text, ends in again.text) == (
            False,
            True,
            True,
        )
        async with site.client(headers={"PRIVATE-TOKEN": token}) as api:
            known = (await api.get("/api/v4/personal_access_tokens/self")).json()
            assert (known["user_id"], known["scopes"], known["expires_at"]) == (person.id, form["scopes"], ends)
            gone = await revoke(client, known["id"])
            assert (gone.status_code, gone.headers["location"]) == (303, f"{TOKENS}?notice=revoked")
            assert (await api.get("/api/v4/user")).status_code == 401
        after = await client.get(gone.headers["location"])
        assert ("The access token is revoked." in after.text, "laptop" in after.text) == (True, False)
    async with site.client(site.root) as client:
        events = (await client.get("/api/v4/audit_events")).json()
    assert [event["event_name"] for event in events[:2]] == ["token_revoked", "token_created"]


async def test_what_is_wrong_is_said_beside_what_was_typed(site: Site) -> None:
    await ada(site)
    form = {"name": "laptop", "scopes": ["read_api"], "expires_at": ""}
    async with browser(site) as client:
        await sign_in(client, "ada", PASSWORD)
        for faulty, said in (
            ({"name": ""}, "name is too short"),
            ({"scopes": []}, "give one at least"),
            ({"scopes": ["all"]}, "all is unknown"),
            ({"expires_at": "2020-01-01"}, "must be a future date"),
            ({"expires_at": "soon"}, "expires_at is invalid"),
        ):
            response = await client.post(TOKENS, data={**form, **faulty})
            assert (response.status_code, said in response.text, SHOWN.findall(response.text)) == (400, True, []), (
                response.text
            )
        assert 'value="laptop"' in response.text
        assert re.search(r'value="read_api" checked', response.text)


async def test_nobody_touches_tokens_of_others_or_from_other_sites(site: Site) -> None:
    person = await ada(site)
    form = {"name": "laptop", "scopes": ["read_api"]}
    async with site.client(person) as api:
        mine = (await api.get("/api/v4/personal_access_tokens/self")).json()["id"]
    async with site.client(site.root) as api:
        roots = (await api.get("/api/v4/personal_access_tokens/self")).json()["id"]
        acting = {"name": "acting", "scopes": ["api"]}
        hidden = (await api.post(f"/api/v4/users/{person.id}/impersonation_tokens", json=acting)).json()["id"]
    foreign = {"Origin": "https://evil.example"}
    async with browser(site) as client, browser(site) as stranger:
        await sign_in(client, "ada", PASSWORD)
        assert (await client.post(TOKENS, data=form, headers=foreign)).status_code == 403
        assert (await revoke(client, mine, **foreign)).status_code == 403
        for key in (roots, hidden):
            assert (await revoke(client, key)).status_code == 404
        assert "acting" not in (await client.get(TOKENS)).text
        for method, path in (("GET", TOKENS), ("POST", TOKENS), ("POST", f"{TOKENS}/{mine}/revoke")):
            away = await stranger.request(method, path, data=form if method == "POST" else None)
            assert (away.status_code, away.headers["location"]) == (303, f"/users/sign_in?next={TOKENS}")
    async with site.client(person) as api:
        assert (await api.get("/api/v4/user")).status_code == 200
