"""Tokens of forms: no route changes anything for a form that lacks the token of its browser."""

import re
from dataclasses import replace

import pytest
from fastapi.params import Depends

from api.app import create_app, framework_routes
from api.pages.frame.form_tokens import COOKIE, FIELD, HEADER, token_of_secret
from api.pages.router import router
from api.v4.origin import require_our_pages
from auth.session_token import COOKIE as SESSION
from auth.session_token import issue_session
from tests import forms
from tests.api.pages.test_pages import HTML
from tests.api.v4.site import Site

UNSUBSCRIBING = "/-/unsubscribe/{project_id}/{token}"
"""Mail programs send it (RFC 8058); the link is its proof (`tests/api/pages/accounts/test_unsubscribing.py`)."""


def test_every_route_of_a_page_that_changes_something_looks_at_the_token() -> None:
    changing = [route for route in router if not set(route.methods) <= {"GET", "HEAD"} and route.path != UNSUBSCRIBING]
    assert len(changing) > 10
    for route in changing:
        looks = [found.dependency for found in route.dependencies if isinstance(found, Depends)]
        assert require_our_pages in looks, route.path
    assert len(list(framework_routes())) > len(changing)


@pytest.mark.parametrize("shown", ["", "0" * 32, "ä", "other"])
async def test_a_form_without_its_token_changes_nothing(site: Site, shown: str) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\n")
    session = issue_session(site.services.key, site.root.id, site.services.clock())
    address = f"/{await site.path()}/-/pipelines/{pipeline}/cancel"
    token = token_of_secret("another browser's") if shown == "other" else shown
    headers = {**HTML, "Origin": site.services.settings.url, HEADER: ""}
    async with site.client(headers=headers, cookies={SESSION: session}) as client:
        client.headers.pop(HEADER)
        refused = await client.post(address, data={FIELD: token})
        rest = await client.post(
            f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/cancel", data={FIELD: token}
        )
        taken = await client.post(address, data={FIELD: forms.TOKEN[HEADER]})
    assert (refused.status_code, rest.status_code, taken.status_code) == (403, 403, 303)
    assert "this form was not sent by a page of this server" in refused.text


async def test_a_new_browser_gets_a_secret_with_the_first_form_and_keeps_it(site: Site) -> None:
    async with site.client(headers=HTML) as client:
        first = await client.get("/users/sign_in")
        second = await client.get("/users/sign_in")
        (secret,) = (cookie.value for cookie in client.cookies.jar if cookie.name == COOKIE)
    flags = first.headers["set-cookie"]
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(flags.split("; "))
    assert "set-cookie" not in second.headers
    assert secret is not None
    told = re.findall(r'(?:name="authenticity_token" value|name="csrf-token" content)="([^"]*)"', second.text)
    assert set(told) == {token_of_secret(secret)}
    assert secret not in second.text


def behind_https(site: Site) -> Site:
    """The same installation, where browsers reach it by https."""
    settings = site.services.settings.model_copy(update={"url": "https://ci.example.com"})
    services = replace(site.services, settings=settings)
    return replace(site, services=services, app=create_app(services))


async def test_behind_https_every_cookie_is_bound_to_the_host(site: Site) -> None:
    form = {"username": "root", "password": site.root.token}
    async with behind_https(site).client(headers={**HTML, "Origin": "https://ci.example.com"}) as client:
        client.cookies.clear()
        page = await client.get("/users/sign_in")
        told = forms.token_in(page.text)
        del client.headers[HEADER]
        signed_in = await client.post("/users/sign_in", data={**form, FIELD: told[HEADER]})
        client.headers.update(told)
        mine = await client.get("/-/profile/password")
        signed_out = await client.post("/users/sign_out")
        left = {cookie.name for cookie in client.cookies.jar}
        client.cookies.set(SESSION, signed_in.headers["set-cookie"].partition("=")[2].partition(";")[0])
        planted = await client.get("/-/profile/password")
    for response, name in ((page, COOKIE), (signed_in, SESSION), (signed_out, SESSION)):
        flags = response.headers["set-cookie"]
        assert flags.startswith(f"__Host-{name}="), flags
        assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} <= set(flags.split("; ")), flags
        assert "domain" not in flags.lower()
    assert (signed_in.status_code, mine.status_code, signed_out.status_code) == (303, 200, 303)
    assert left == {f"__Host-{COOKIE}"}
    assert planted.status_code == 303, "a cookie without the prefix is nobody's session there"
