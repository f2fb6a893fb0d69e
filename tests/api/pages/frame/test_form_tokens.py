"""Tokens of forms: no route changes anything for a form that lacks the token of its browser."""

import re

import pytest
from fastapi.params import Depends

from api.app import framework_routes
from api.pages.frame.form_tokens import COOKIE, FIELD, HEADER, SECURE_COOKIE, token_of_secret
from api.pages.router import router
from api.v4.origin import require_our_pages
from auth.session_token import COOKIE as SESSION
from auth.session_token import issue_session
from tests import forms
from tests.api.pages.test_pages import HTML
from tests.api.v4.site import Site


def test_every_route_of_a_page_that_changes_something_looks_at_the_token() -> None:
    changing = [route for route in router if not set(route.methods) <= {"GET", "HEAD"}]
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


async def test_behind_https_the_secret_is_bound_to_the_host(site: Site) -> None:
    from dataclasses import replace

    from api.app import create_app

    settings = site.services.settings.model_copy(update={"url": "https://ci.example.com"})
    services = replace(site.services, settings=settings)
    secure = replace(site, services=services, app=create_app(services))
    async with secure.client(headers=HTML) as client:
        flags = (await client.get("/users/sign_in")).headers["set-cookie"]
    assert flags.startswith(f"{SECURE_COOKIE}=")
    assert {"Secure", "HttpOnly", "Path=/"} <= set(flags.split("; "))
    assert "Domain" not in flags
