"""The pages: what they show, to whom, and that nothing foreign gets in."""

import re
from dataclasses import replace
from html import escape
from urllib.parse import quote

import httpx
import pytest

from api.app import create_app
from auth.permissions import REPORTER
from auth.session_token import COOKIE, issue_session
from domain.pipelines.status import Status
from tests import forms
from tests.api.v4.declared_responses import DeclaredResponses
from tests.api.v4.site import Person, Site

EVIL = "<script>alert('x')</script>"
HTML = {"Accept": "text/html"}


def browser(site: Site, person: Person | None = None, **headers: str) -> httpx.AsyncClient:
    """A client with a session."""
    cookies = dict(forms.COOKIES)
    if person is not None:
        cookies[COOKIE] = issue_session(site.services.key, person.id, site.services.clock())
    return site.client(headers={**HTML, **headers}, cookies=cookies)


async def paths(site: Site) -> list[str]:
    """One page of each kind, all of them full of foreign text."""
    config = f'"{EVIL}": {{stage: build, script: x}}\nother: {{stage: test, script: x, tags: ["{EVIL}"]}}\n'
    commit = {"title": EVIL, "message": EVIL, "author_name": EVIL, "author_email": EVIL}
    commit["timestamp"] = "2026-01-02T03:04:05+00:00"
    pipeline = await site.world.pipeline(config, commit=commit)
    job = await site.world.job()
    await site.world.patch(job, 0, f"{EVIL}\n\x1b[31m{EVIL}".encode())
    await site.world.put(job, "failed", failure_reason="script_failure", exit_code=1)
    await site.set_project(name=EVIL)
    project = "/" + await site.path()
    return [
        "/",
        project,
        f"{project}/-/pipelines",
        f"{project}/-/pipelines/{pipeline}",
        f"{project}/-/jobs/{job['id']}",
    ]


async def test_foreign_text_never_becomes_markup(site: Site) -> None:
    for path in await paths(site):
        async with browser(site, site.root) as client:
            response = await client.get(path)
        assert response.status_code == 200, response.text
        assert "<script>alert" not in response.text
        assert path == "/" or "&lt;script&gt;alert" in response.text, path
        assert re.findall(r"<script[^>]*>", response.text) == [
            tag for tag in re.findall(r"<script[^>]*>", response.text) if 'src="/-/assets/' in tag
        ]
        assert not re.search(r"\son\w+=|\sstyle=|javascript:", re.sub(r"&[^;]+;", "", response.text))
        policy = response.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"


async def test_private_pages_do_not_exist_for_strangers(site: Site) -> None:
    pages = await paths(site)
    passer = await site.person("passer")
    for path in pages[1:]:
        for person in (None, passer):
            async with browser(site, person) as client:
                response = await client.get(path)
                events = await client.get(f"{path}/events")
            assert response.status_code == 404
            assert "There is nothing here" in response.text
            assert events.status_code == 404
    async with browser(site) as stranger:
        home = await stranger.get("/")
    assert await site.path() not in home.text
    assert "No public project here" in home.text


async def test_a_public_project_is_shown_to_everybody_without_buttons(site: Site) -> None:
    pages = await paths(site)
    await site.set_project(visibility="public")
    for path in pages:
        async with browser(site) as client:
            response = await client.get(path)
        assert response.status_code == 200
        assert 'method="post"' not in response.text
    async with browser(site, site.root) as client:
        assert "Retry" in (await client.get(pages[3])).text


async def test_a_pipeline_page_shows_stages_jobs_states_and_attempts(site: Site) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline("build: {stage: build, script: x}\ncheck: {stage: test, script: x}\n")
    job = await site.world.job()
    await site.world.put(job, "failed", failure_reason="script_failure", exit_code=7)
    page = f"/{await site.path()}/-/pipelines/{pipeline}"
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        before = (await client.get(page)).text
        retried = await client.post(f"/{await site.path()}/-/jobs/{job['id']}/retry")
        after = (await client.get(page)).text
        attempt = (await client.get(retried.headers["location"])).text
        await site.world.settle(pipeline)
        again = await site.world.job()
        await site.world.put(again, "failed", failure_reason="script_failure", exit_code=7)
        ended = [(await client.get(path)).text for path in (page, retried.headers["location"])]
        listed = (await client.get(f"/{await site.path()}")).text
    assert before.index('aria-label="Stage build"') < before.index('aria-label="Stage test"')
    assert "Failed" in before
    assert 'href="#g-failed"' in before
    assert "exit code 7" in before
    assert retried.status_code == 303
    assert retried.headers["location"] != f"/{await site.path()}/-/jobs/{job['id']}"
    assert "attempt 2" in after
    assert "Attempts:" in attempt
    assert re.search(r"attempt 2, took \d\.\d s", ended[0]), "how often, and how long the last time"
    assert re.search(r"attempt 2 ·\s+\d\.\d s", ended[1])
    for text in ended:
        assert re.search(rf"pipeline {pipeline}(</a>)? <span[^>]*>\(number 1 of its project\)", text), (
            "one number, and what #1 is"
        )
    assert f"· pipeline {pipeline} · " in before, "the title says the same number"
    assert f">pipeline {pipeline}</a>" in listed


async def test_a_pipeline_that_could_not_be_made_shows_its_faults(site: Site) -> None:
    from models.repositories.pipelines import pipelines
    from models.repositories.pipelines.pipelines import PipelineRequest

    wish = PipelineRequest(site.world.project_id, site.root.id, "main", "a" * 40, "push")
    async with site.services.database.write() as connection:
        text = f".gitlab-ci.yml:3:1: {EVIL}\n.gitlab-ci.yml:9:2: second"
        key = await pipelines.create_ended(
            connection, wish, Status.FAILED, site.services.clock(), seal=str, reason="config_error", errors=text
        )
    async with browser(site, site.root) as client:
        page = (await client.get(f"/{await site.path()}/-/pipelines/{key}")).text
    assert "<code>.gitlab-ci.yml:3:1: &lt;script&gt;" in page
    assert "<code>.gitlab-ci.yml:9:2: second</code>" in page


async def test_buttons_need_the_level_and_our_own_origin(site: Site) -> None:
    pipeline = await site.world.pipeline()
    form = f"/{await site.path()}/-/pipelines/{pipeline}/cancel"
    reporter = await site.person("reporter", 20)
    origin = site.services.settings.url
    async with browser(site, site.root) as client:
        for headers in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
            assert (await client.post(form, headers=headers)).status_code == 403
        kept = await client.post(form, headers={"Origin": origin})
        notice = await client.get(kept.headers["location"])
    assert kept.status_code == 303
    assert "will be carried out in a moment" in notice.text
    async with browser(site, reporter, Origin=origin) as client:
        response = await client.post(form)
    assert response.status_code == 403
    assert "Not permitted" in response.text


async def test_a_refused_button_says_why(site: Site) -> None:
    await site.world.pipeline()
    job = await site.world.job()
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        response = await client.post(f"/{await site.path()}/-/jobs/{job['id']}/retry")
    assert response.status_code == 409
    assert "only a finished job can be retried" in response.text


async def test_a_button_for_which_nothing_is_left_to_do_leads_back(site: Site) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline("one: {script: x}\n")
    job = await site.world.job()
    await site.world.put(job, "success", b"")
    await site.world.settle(pipeline)
    project = "/" + await site.path()
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        for page in (f"{project}/-/pipelines/{pipeline}", f"{project}/-/jobs/{job['id']}"):
            response = await client.post(f"{page}/cancel")
            assert (response.status_code, response.headers["location"]) == (303, page)


async def test_a_manual_job_whose_turn_has_not_come_says_what_it_waits_for(site: Site) -> None:
    config = "stages: [build, ship]\nbuild: {stage: build, script: x}\ngo: {stage: ship, script: x, when: manual}\n"
    await site.world.pipeline(config)
    before = await site.world.job()
    page = f"/{await site.path()}/-/jobs/{before['id'] + 1}"
    words = "It waits for stage build: build (running)"
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        shown = await client.get(page)
        played = await client.post(f"{page}/play")
    assert words in shown.text
    assert (played.status_code, words in played.text) == (409, True)


async def test_signing_in_and_out(site: Site) -> None:
    page = "/" + await site.path()
    async with browser(site, Origin=site.services.settings.url) as client:
        assert (await client.get("/users/sign_in")).status_code == 200
        wrong = await client.post("/users/sign_in", data={"username": EVIL, "password": site.root.token})
        assert wrong.status_code == 401
        assert "<script>alert" not in wrong.text
        form = {"username": "root", "password": site.root.token, "next": page}
        right = await client.post("/users/sign_in", data=form)
        assert (right.status_code, right.headers["location"]) == (303, page)
        cookie = right.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert (await client.get(page)).status_code == 200
        out = await client.post("/users/sign_out")
        assert out.status_code == 303
        assert (await client.get(page)).status_code == 404
        foreign = await client.post("/users/sign_in", data=form, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403


@pytest.mark.parametrize("address", ["https://evil.example", "//evil.example", "/\\evil.example", "x", "", "/\tx"])
def test_nobody_is_led_away_after_signing_in(address: str) -> None:
    from api.pages.accounts.sign_in import inside

    assert inside(address) == "/"
    assert inside("/group/name?page=2") == "/group/name?page=2"


LOST = (
    "/no/such",
    "/no/such/-/jobs/1",
    "/a/b/c/d",
    "/users/nobody",
    "/-/assets/x/none.css",
    "/-/assets/x/..%2Fhome.py",
)


async def test_errors_are_pages_for_browsers_and_json_for_others(site: Site) -> None:
    async with browser(site) as client:
        for path in LOST:
            page = await client.get(path)
            json = await client.get(path, headers={"Accept": "application/json"})
            assert page.status_code == json.status_code == 404
            assert page.headers["content-type"].startswith("text/html")
            assert "There is nothing here" in page.text
            assert "message" in json.json()


async def test_errors_keep_who_is_signed_in(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    reporter = await site.person("rita", REPORTER)
    pipeline = await site.world.pipeline("one: {script: x}\n")
    project = "/" + await site.path()

    async def broken(*_: object) -> None:
        raise RuntimeError("a surprise")

    async with browser(site, reporter, Origin=site.services.settings.url) as client:
        responses = [await client.get("/no/such"), await client.get(f"{project}/-/jobs/99999")]
        responses.append(await client.post(f"{project}/-/pipelines/{pipeline}/cancel"))
        monkeypatch.setattr("api.pages.pipelines.listing.draw_list", broken)
        responses.append(await client.get(project))
    assert [response.status_code for response in responses] == [404, 404, 403, 500]
    for response in responses:
        assert ">rita</bdi>" in response.text, response.status_code
        assert "Sign out" in response.text


async def test_a_deep_link_leads_to_the_sign_in_and_back(site: Site) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\n")
    there = f"/{await site.path()}/-/pipelines/{pipeline}?page=2&x=%C3%A4"
    missing = f"/no/such/-/pipelines/{pipeline}?page=2&x=%C3%A4"
    async with browser(site, Origin=site.services.settings.url) as client:
        found, lost = await client.get(there), await client.get(missing)
        hidden = escape(there)
        assert (found.status_code, lost.status_code) == (404, 404)
        assert f'name="next" value="{hidden}"' in found.text
        assert found.text.replace(hidden, escape(missing)) == lost.text, "nobody learns whether it is there"
        form = {"username": "root", "password": site.root.token, "next": there}
        signed = await client.post("/users/sign_in", data=form)
        assert signed.headers["location"] == there
        assert (await client.get(there)).status_code == 200
        assert 'name="next"' not in (await client.get(missing)).text
    async with browser(site) as client:
        for path in ("//evil.example/x", "/no/" + "x" * 2000):
            assert 'name="next" value="/"' in (await client.get(site.services.settings.url + path)).text
        public = (await client.get("/")).text
        assert 'href="/users/sign_in">' in public
    await site.set_project(visibility="public")
    async with browser(site) as client:
        shown = (await client.get(there)).text
    assert f'href="/users/sign_in?next={quote(there)}">' in shown, "the header's link leads back too"


async def test_the_api_answers_browsers_in_json_too(site: Site) -> None:
    async with browser(site) as client:
        for path in ("/api/v4/nothing", "/api/v4", "/api/v4/projects/1"):
            response = await client.get(path)
            assert response.status_code == 404
            assert response.headers["content-type"] == "application/json"


async def test_assets_are_kept_for_long_and_the_icon_is_there(site: Site) -> None:
    async with browser(site) as client:
        home = (await client.get("/")).text
        found = re.findall(r'(?:href|src)="(/-/assets/[^"]+)"', home)
        assert len(found) == 6
        assert all(name in home for name in ("perdure.css", "scripts/page.js", "vendor/htmx.min.js"))
        for path in found:
            response = await client.get(path)
            assert response.status_code == 200
            assert "immutable" in response.headers["cache-control"]
        old = await client.get(re.sub("assets/[0-9a-f]+", "assets/old", found[0]))
        icon = await client.get("/favicon.ico", follow_redirects=True)
    assert old.headers["cache-control"] == "no-cache"
    assert icon.headers["content-type"] == "image/svg+xml"


def test_scripts_stay_small_and_nothing_is_loaded_from_elsewhere() -> None:
    from pathlib import Path

    from api.pages.frame import assets

    folder = Path(assets.__file__).parent.parent
    scripts = sorted((folder / "static" / "scripts").rglob("*.js"))
    assert len(scripts) > 5
    for path in scripts:
        assert len(path.read_text().splitlines()) < 260, path
    for path in (*scripts, *(folder / "static" / "styles").glob("*.css")):
        assert not re.search(r"https?://|url\(|@import", path.read_text()), path
    for path in (folder / "templates").rglob("*.html"):
        assert not re.search(r"<[^>]+=\s*[\"']?(https?:)?//", path.read_text()), path


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (42.4, "42 s"), (185, "3 min 5 s"), (7620, "2 h 7 min")],
)
def test_spans_are_said_as_people_say_them(seconds: float, text: str) -> None:
    from api.pages.frame.templates import span

    assert span(seconds) == text


async def test_every_page_of_a_restored_copy_says_that_it_is_one(site: Site) -> None:
    """Where people sign in, too, and where there is nothing."""
    mine = replace(site.services.mine, held_up_to=1, restored_from="4711")
    copy = replace(site, app=DeclaredResponses(create_app(replace(site.services, mine=mine))))
    pipelines = f"/{await site.path()}/-/pipelines"
    for path, person in (("/users/sign_in", None), ("/", site.root), (pipelines, site.root), ("/nowhere", site.root)):
        for shown, times in ((site, 0), (copy, 1)):
            async with browser(shown, person) as client:
                text = (await client.get(path)).text
            assert text.count("This is a copy of installation 4711, restored from a backup: ") == times, path
            assert text.count("have the variables of the original: a job that deploys does.") == times
