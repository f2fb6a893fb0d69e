"""Pages of schedules: what they show of time and of what was, what forms make, and who may do what."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from auth.session_token import COOKIE, issue_session
from models.clock import system_clock
from tests import forms
from tests.api.pages.test_pages import EVIL, HTML
from tests.api.v4.site import Person
from tests.application.schedules.planned import SIDE, Planned, pipeline_table, planned, schedule_table, variable_table

MAINTAINER, DEVELOPER, REPORTER, GUEST = 40, 30, 20, 10


@pytest.fixture
async def here(tmp_path: Path, database_url: str) -> AsyncIterator[Planned]:
    """An installation whose time the test moves; it is 12:00:30 on Monday, 2 March 2026."""
    async with planned(tmp_path, database_url) as opened:
        yield opened


def browser(here: Planned, person: Person | None, **headers: str) -> httpx.AsyncClient:
    """A client with a session of today: those look at the real clock."""
    session = {} if person is None else {COOKIE: issue_session(here.site.services.key, person.id, system_clock())}
    return here.site.client(headers={**HTML, **headers}, cookies={**forms.COOKIES, **session})


async def see(here: Planned, rest: str = "", person: Person | None = None) -> httpx.Response:
    """A page of schedules, as root sees it unless somebody else is named."""
    async with browser(here, person or here.site.root) as client:
        return await client.get(f"/{await here.site.path()}/-/pipeline_schedules{rest}")


async def send(here: Planned, rest: str = "", who: Person | None = None, **fields: Any) -> httpx.Response:
    """Send a form."""
    origin = {"Origin": here.site.services.settings.url, **forms.TOKEN}
    async with browser(here, who or here.site.root, **origin) as client:
        return await client.post(f"/{await here.site.path()}/-/pipeline_schedules{rest}", data=fields)


def times(page: str) -> list[str]:
    """The ticks to come that a page shows."""
    return re.findall(r"<li><time [^>]*>([^<]*)</time></li>", page)


async def test_the_list_tells_in_words_when_each_ticks_and_what_comes_next(here: Planned) -> None:
    assert "No schedule" in (await see(here)).text
    await here.schedule("30 2 * * 1-5", cron_timezone="Europe/Berlin", description=EVIL)
    await here.schedule("0 4 * * *", description="off", active=False)
    page = (await see(here)).text
    assert EVIL not in page
    assert "Monday to Friday at 02:30" in page
    assert "<code>30 2 * * 1-5</code>" in page
    assert times(page) == [
        "Tue, 3 Mar 2026, 02:30",
        "Wed, 4 Mar 2026, 02:30",
        "Thu, 5 Mar 2026, 02:30",
        "Fri, 6 Mar 2026, 02:30",
        "Mon, 9 Mar 2026, 02:30",
    ], "a schedule that is paused has none"
    assert 'datetime="2026-03-03T01:30:00+00:00"' in page
    assert "Pause: " in page
    assert "Resume: off" in page
    for scope, number in (("active", 1), ("inactive", 1), ("", 2)):
        assert (await see(here, f"?scope={scope}")).text.count("<article") == number


async def test_a_schedule_shows_what_became_of_its_ticks(here: Planned) -> None:
    made = await here.schedule("* * * * *", catch_up_window=0)
    await here.pass_to(1)
    await here.pass_to(5)
    (first, second) = [row.id for row in await here.rows(pipeline_table)]
    await here.end(first, "failed")
    listed, page = (await see(here)).text, (await see(here, f"/{made['id']}")).text
    assert "3 ticks missed in 30 days" in listed
    assert re.search(rf'class="chip failed" href="[^"]*/-/pipelines/{first}"', listed)
    assert re.search(rf'class="chip created" href="[^"]*/-/pipelines/{second}"', page)
    assert page.count("Missed") == 3
    assert "The server was away when this tick was due" in page
    assert page.count("<tr id=") == 5


async def test_the_form_makes_a_schedule_with_variables_and_inputs(here: Planned) -> None:
    config = """
spec:
  inputs:
    level: {type: number, default: 3}
    note: {default: usual}
---
variables:
  TARGET: {value: here, description: Where to}
build: {script: "echo $[[ inputs.level ]] $[[ inputs.note ]]"}
"""
    await here.site.commit({".gitlab-ci.yml": config})
    asked = (await see(here, "/new")).text
    assert 'name="inputs[level]" value="3"' in asked
    assert '<option value="TARGET">Where to</option>' in asked
    fields: dict[str, Any] = {
        "description": "nightly",
        "cron": "0 4 * * *",
        "cron_timezone": "Berlin",
        "ref": "main",
        "active": "1",
        "overlap": "skip",
        "catch_up": "all",
        "window": "1.5",
        "inputs[level]": "5",
        "inputs[note]": "usual",
        "keys[]": ["A", "KEY", ""],
        "values[]": ["1", "text of\na file", ""],
        "types[]": ["env_var", "file", "env_var"],
    }
    answer = await send(here, **fields)
    assert (answer.status_code, answer.text) == (303, "")
    (row,) = (await here.call("GET")).json()
    told = (await here.call("GET", f"/{row['id']}")).json()
    expected = {
        "description": "nightly",
        "ref": "refs/heads/main",
        "cron_timezone": "Berlin",
        "overlap_policy": "skip",
        "catch_up": "all",
        "catch_up_window": 90,
        "inputs": [{"name": "level", "value": "5"}],
    }
    assert {name: told[name] for name in expected} == expected, (
        "an input that has its default follows the configuration"
    )
    assert [(one["key"], one["value"], one["variable_type"]) for one in told["variables"]] == [
        ("A", "1", "env_var"),
        ("KEY", "text of\na file", "file"),
    ]
    edit = (await see(here, f"/{row['id']}/edit")).text
    assert 'name="inputs[level]" value="5"' in edit
    assert 'value="KEY"' in edit
    changed = fields | {"cron": "0 5 * * *", "inputs[level]": "3"}
    changed |= {"keys[]": ["KEY"], "values[]": ["x"], "types[]": []}
    changed.pop("active")
    assert (await send(here, f"/{row['id']}", **changed)).status_code == 303
    told = (await here.call("GET", f"/{row['id']}")).json()
    assert (told["cron"], told["active"], told["inputs"]) == ("0 5 * * *", False, [])
    assert [(one["key"], one["value"], one["variable_type"]) for one in told["variables"]] == [("KEY", "x", "env_var")]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cron": "99 * * * *"}, "Interval pattern is invalid syntax: &#39;99&#39; is wrong in the minute"),
        ({"cron": "0 0 30 2 *"}, "none of its months has such a day"),
        ({"cron_timezone": "Europe/Berln"}, "Europe/Berlin"),
        ({"ref": "nowhere"}, "Branch or tag Reference not found"),
        ({"description": " "}, "Description can&#39;t be blank"),
        ({"window": "soon"}, "catch_up_window is invalid"),
        ({"window": "inf"}, "catch_up_window is invalid"),
        ({"overlap": "never"}, "overlap_policy does not have a valid value"),
        ({"keys[]": "A-B", "values[]": "1"}, "&#39;A-B&#39; has no fit name"),
        ({"keys[]": ["A", "A"], "values[]": ["1", "2"]}, "A stands there twice"),
    ],
)
async def test_what_is_wrong_is_told_beside_the_form_as_it_was_filled_in(
    here: Planned, fields: dict[str, Any], words: str
) -> None:
    sent = {"description": "keep me", "cron": "0 4 * * *", "cron_timezone": "UTC", "ref": "main", **fields}
    answer = await send(here, **sent)
    assert (answer.status_code, words in answer.text) == (400, True), answer.text
    assert 'role="alert"' in answer.text
    assert fields.get("description") or 'value="keep me"' in answer.text
    assert await here.rows(schedule_table) == []
    assert await here.rows(variable_table, "key") == []


async def test_the_next_ticks_are_shown_while_the_form_is_filled_in(here: Planned) -> None:
    fields: dict[str, Any] = {
        "description": "x",
        "ref": "main",
        "cron": "30 2 28-30 3 *",
        "cron_timezone": "Europe/Berlin",
    }
    page = (await send(here, "/new", **fields)).text
    assert times(page)[:2] == ["Sat, 28 Mar 2026, 02:30", "Mon, 30 Mar 2026, 02:30"], "the clocks skip 02:30 on Sunday"
    assert await here.rows(schedule_table) == []
    wrong = await send(here, "/new", **{**fields, "cron": "every day", "cron_timezone": "Mars"})
    assert (wrong.status_code, "It would not tick" in wrong.text) == (200, True)
    assert "2 fields instead of 5" in wrong.text
    assert "there is no time zone &#39;Mars&#39;" in wrong.text


async def test_buttons_run_pause_take_over_and_delete(here: Planned) -> None:
    ada = await here.site.person("ada", MAINTAINER)
    made = await here.schedule("0 4 * * *")
    rest = f"/{made['id']}"
    assert (await send(here, f"{rest}/play")).status_code == 303
    await here.loop.carry_out_due()
    (pipeline,) = await here.rows(pipeline_table)
    assert (pipeline.source, pipeline.user_id) == ("schedule", here.site.root.id)
    assert (await send(here, f"{rest}/deactivate")).status_code == 303
    assert (await here.call("GET", rest)).json()["active"] is False
    assert (await send(here, f"{rest}/activate")).status_code == 303
    page = (await see(here, person=ada)).text
    assert "Take ownership: nightly" in page
    assert "Edit: nightly" not in page
    refused = await see(here, f"{rest}/edit", ada)
    assert (refused.status_code, "take it first" in refused.text) == (403, True)
    assert (await send(here, f"{rest}/take_ownership", ada)).status_code == 303
    assert "Edit: nightly" in (await see(here, person=ada)).text
    assert (await send(here, f"{rest}/delete", ada)).status_code == 303
    assert (await see(here, rest)).status_code == 404
    assert "No schedule" in (await see(here)).text


async def test_who_may_not_run_pipelines_there_only_reads(here: Planned) -> None:
    made = await here.schedule("0 4 * * *")
    rest = f"/{made['id']}"
    reporter, developer = await here.site.person("rep", REPORTER), await here.site.person("dev", DEVELOPER)
    page = (await see(here, person=reporter)).text
    assert "nightly" in page
    assert "<button" not in page.partition("<main")[2].partition("</main>")[0]
    for place in ("/new", f"{rest}/edit"):
        assert (await see(here, place, reporter)).status_code == 403
    for place in ("", rest, f"{rest}/play", f"{rest}/delete", f"{rest}/activate", f"{rest}/take_ownership"):
        assert (await send(here, place, reporter, description="x", cron="* * * * *", ref="main")).status_code == 403
    assert (await send(here, f"{rest}/play", developer)).status_code == 403, "main is protected"
    own = await send(here, "", developer, description="mine", cron="* * * * *", cron_timezone="UTC", ref=SIDE)
    assert own.status_code == 303, own.text
    assert (await see(here, person=await here.site.person("gus", GUEST))).status_code == 403
    async with browser(here, None) as client:
        assert (await client.get(f"/{await here.site.path()}/-/pipeline_schedules")).status_code == 404
    async with browser(here, here.site.root, Origin="https://evil.example", **forms.TOKEN) as client:
        address = f"/{await here.site.path()}/-/pipeline_schedules{rest}/play"
        assert (await client.post(address)).status_code == 403
