"""`perdure up --pods 2`: a person of one pod works in the other, by one address and one sign-in.

Slow: two pods with all their processes, and a browser. Nothing less has the front, the directory and its followers, and
what a browser really does with cookies, and with a form that is sent again.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from playwright.async_api import Page, expect

from api.browser_visits import COOKIE as TICKET
from api.pages.frame.form_tokens import COOKIE as FORM_COOKIE
from auth.key_ring import Purpose, open_ring
from auth.session_token import COOKIE, cookie_of
from auth.visit_ticket import issue_ticket
from domain.pods.directory import Pod
from domain.pods.visits import REFUSED, Guest
from models.clock import system_clock
from pods.embedded_pods import all_settings
from settings import Settings
from tests.browser.chromium import PROGRAM, browsing
from tests.faults.stack import Stack, running
from tests.forms import token_in
from tests.waiting import until

pytestmark = pytest.mark.slow

PASSWORD: Final = "correct horse"
AWAY: Final = 1
"""The number of the pod that is visited; people are at home in the first one."""


@dataclass(frozen=True)
class Administrator:
    """The one of a pod, by the address of all."""

    settings: Settings

    def made(self, door: str, /, **body: Any) -> Any:
        known = json.loads((self.settings.home / "credentials.json").read_text())
        headers = {"PRIVATE-TOKEN": known["token"]}
        url = f"{self.settings.url}/api/v4{door}"
        response = httpx.post(url, json=body, headers=headers, trust_env=False, timeout=60)
        assert response.status_code == httpx.codes.CREATED, response.text
        return response.json()


@dataclass(frozen=True)
class Scene:
    """A private project in the second pod, of which a person of the first one is a member."""

    home: Administrator
    away: Administrator
    username: str
    person_id: int
    path: str

    @property
    def url(self) -> str:
        return self.home.settings.url

    def browser(self) -> httpx.Client:
        headers = {"Accept": "text/html", "Origin": self.url}
        return httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=60, follow_redirects=True)

    def sign_in(self, browser: httpx.Client) -> httpx.Response:
        form = {"username": self.username, "password": PASSWORD, "next": f"/{self.path}"}
        browser.headers.update(token_in(browser.get("/users/sign_in").text))
        return browser.post("/users/sign_in", data=form)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("visits") / "home", None, "--pods", "2") as started:
        yield started


def scene_of(stack: Stack, username: str) -> Scene:
    home, away = (Administrator(settings) for settings in all_settings(stack.settings))
    of_person: dict[str, Any] = {"email": f"{username}@example.com", "password": PASSWORD}
    person = home.made("/users", username=username, name=username.title(), **of_person)
    group = away.made("/groups", name=f"of {username}", path=f"org-{username}")
    project = away.made("/projects", name="app", path="app", namespace_id=group["id"], visibility="private")
    member = away.made(f"/groups/{group['id']}/members", username=username, access_level=30)
    assert member["id"] >> 40 == AWAY
    scene = Scene(home, away, username, person["id"], project["path_with_namespace"])
    with scene.browser() as browser:  # the router hears of names a moment after the pods have told the directory
        until(lambda: browser.get(f"/{scene.path}").status_code in {401, 404}, 20)
        until(lambda: scene.sign_in(browser).status_code == httpx.codes.OK, 20)
    return scene


def is_sign_in(response: httpx.Response) -> bool:
    return 'name="password"' in response.text


def test_who_is_signed_in_at_home_works_in_another_pod_until_they_sign_out(stack: Stack) -> None:
    scene = scene_of(stack, "ada")
    with scene.browser() as browser:
        assert is_sign_in(browser.get(f"/{scene.path}"))
        page = scene.sign_in(browser)
        assert (page.status_code, page.url.path, "Sign out" in page.text) == (200, f"/{scene.path}", True)
        assert set(browser.cookies) == {COOKIE, cookie_of(AWAY), FORM_COOKIE}
        assert browser.get("/api/v4/user").json()["id"] == scene.person_id, "what names no pod is that of home"
        copied = dict(browser.cookies)
        left = browser.post("/users/sign_out")
        assert (left.status_code, set(browser.cookies)) == (200, {FORM_COOKIE})
        assert is_sign_in(browser.get(f"/{scene.path}"))
    for name, value in copied.items():
        with scene.browser() as thief:
            thief.headers["Cookie"] = f"{name}={value}"
            pages = [thief.get(path, follow_redirects=False) for path in (f"/{scene.path}", "/-/profile/password")]
            assert all("Sign out" not in page.text for page in pages)


def test_who_is_blocked_at_home_gets_no_further_ticket(stack: Stack) -> None:
    scene = scene_of(stack, "bob")
    with scene.browser() as browser:
        assert scene.sign_in(browser).url.path == f"/{scene.path}"
        del browser.cookies[cookie_of(AWAY)]
        page = browser.get(f"/{scene.path}")
        assert (page.status_code, len(page.history)) == (200, 3), "home and back, without a word"
        scene.home.made(f"/users/{scene.person_id}/block")
        assert browser.get("/api/v4/user").status_code == httpx.codes.UNAUTHORIZED
        del browser.cookies[cookie_of(AWAY)]  # as when its hour is over
        assert is_sign_in(browser.get(f"/{scene.path}"))
        assert scene.sign_in(browser).status_code == httpx.codes.UNAUTHORIZED


def test_a_ticket_opens_one_pod_once_and_only_home_makes_it(stack: Stack) -> None:
    scene = scene_of(stack, "eve")
    arrival = f"/-/visits/{AWAY}"
    with scene.browser() as browser:
        scene.sign_in(browser)
        sent = browser.get("/users/visit", params={"pod": AWAY, "next": f"/{scene.path}"}, follow_redirects=False)
        assert sent.headers["location"].startswith(arrival)
        (cookie,) = [line for line in sent.headers.get_list("set-cookie") if line.startswith(f"{TICKET}=")]
    ticket = cookie.partition("=")[2].partition(";")[0]
    guest = Guest(0, scene.person_id, scene.username, "Eve", "eve@example.com")
    target = Pod(AWAY, scene.away.settings.pod)
    forged = issue_ticket(open_ring(scene.away.settings, Purpose.SIGNING), guest, target, system_clock())

    def shown(value: str, pod: int = AWAY) -> httpx.Response:
        with scene.browser() as stranger:
            stranger.headers["Cookie"] = f"{TICKET}={value}"
            return stranger.get(f"/-/visits/{pod}", follow_redirects=False)

    refused = [shown(forged), shown(ticket, 0), shown(ticket[:-6] + "AAAAAA"), shown("")]
    taken = shown(ticket)
    assert (taken.status_code, cookie_of(AWAY) in taken.cookies) == (303, True)
    refused.append(shown(ticket))
    assert {(response.status_code, REFUSED in response.text) for response in refused} == {(401, True)}
    assert not [response for response in refused if cookie_of(AWAY) in response.cookies or COOKIE in response.cookies]


async def _fill_in(page: Page, scene: Scene) -> None:
    await page.get_by_label("User name or e-mail address").fill(scene.username)
    await page.get_by_label("Password or access token").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()


@pytest.mark.skipif(
    not PROGRAM.exists() and os.environ.get("CI") != "true",
    reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
)
async def test_a_browser_goes_home_and_back_and_signs_out_of_both(stack: Stack, tmp_path: Path) -> None:
    scene = scene_of(stack, "grace")
    async with browsing(tmp_path / "failed.png") as page:
        await page.goto(f"{scene.url}/")
        await page.goto(f"{scene.url}/{scene.path}")
        await _fill_in(page, scene)
        await expect(page).to_have_url(f"{scene.url}/{scene.path}")
        await page.locator(".account summary").click()
        await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        cookies = {cookie["name"]: cookie for cookie in await page.context.cookies()}
        assert set(cookies) == {COOKIE, cookie_of(AWAY), FORM_COOKIE}
        assert all(cookie["httpOnly"] and cookie["sameSite"] == "Lax" for cookie in cookies.values())
        await page.context.clear_cookies(name=cookie_of(AWAY))
        await page.goto(f"{scene.url}/{scene.path}")
        await expect(page).to_have_url(f"{scene.url}/{scene.path}")
        await page.locator(".account summary").click()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("link", name="Sign in").first).to_be_visible()
        assert [cookie["name"] for cookie in await page.context.cookies()] == [FORM_COOKIE]
        await page.goto(f"{scene.url}/{scene.path}")
        await expect(page.get_by_label("Password or access token")).to_be_visible()
