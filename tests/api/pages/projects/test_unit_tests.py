"""Pages of tests and of figures over time: what they show, and that names of tests and jobs are only text."""

import gzip
import re
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from xml.sax.saxutils import quoteattr

import httpx
import pytest
from sqlalchemy import select

from api.pages.frame.responses import SECURITY
from loops.reports import ReportLoop
from models.repositories.artifacts.unit_tests import unit_test
from models.repositories.pipelines.job_rows import job as job_table
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</title></svg><script>alert(2)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\u2066 abc \u2069",
    "x" * 10_000,
    "javascript:alert(1)",
]
VOID = {"meta", "link", "input"}


class Markup(HTMLParser):
    """What of a page is markup: elements, their attributes, and whether each is closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def assert_harmless(response: httpx.Response) -> None:
    """Nothing of what others named is more than text."""
    assert response.status_code == 200, response.text
    assert response.headers["content-security-policy"] == SECURITY["Content-Security-Policy"]
    for tag, attributes in Markup(response.text).elements:
        assert tag not in {"img", "style", "iframe", "object"}, tag
        assert tag != "script" or (attributes["src"] or "").startswith("/-/assets/")
        assert not [name for name in attributes if name.startswith("on") or name == "style"], attributes
        for name in {"href", "src", "action"} & set(attributes):
            assert re.match(r"[/?#]", attributes[name] or "/"), attributes


async def report(site: Site, *, fails: bool, names: list[str], config: str = "unit: {script: x}\n") -> int:
    """A pipeline whose job ended with a report; its id."""
    pipeline_id = await site.world.pipeline(config)
    job = await site.world.job()
    end = "<failure>&lt;b&gt;no&lt;/b&gt;</failure>" if fails else ""
    case = "<testcase classname={0} file={0} name={0} time='0.5'>{1}</testcase>"
    text = "".join(case.format(quoteattr(name), end) for name in names)
    content = f"<testsuite name='s'>{text}</testsuite>".encode()
    handed_in = await site.world.upload(job, gzip.compress(content), artifact_type="junit", artifact_format="gzip")
    assert handed_in.status_code == 201, handed_in.text
    assert (await site.world.put(job, "failed" if fails else "success", b"")).status_code == 200
    await site.world.settle(pipeline_id)
    services = site.services
    await ReportLoop(services.database, services.store, services.notifications).parse()
    return pipeline_id


REPORTING = "unit: {script: x, artifacts: {reports: {junit: j.xml}}}\n"


async def test_hostile_names_of_tests_are_text_on_every_page(site: Site) -> None:
    pipeline_id = await report(site, fails=True, names=HOSTILE, config=REPORTING)
    await report(site, fails=False, names=HOSTILE, config=REPORTING)
    project = f"/{await site.path()}/-"
    async with site.services.database.read() as connection:
        rows = (await connection.execute(select(unit_test.c.id, unit_test.c.flaky))).all()
    assert {row.flaky for row in rows} == {"same_commit"}
    assert len(rows) == len(HOSTILE)
    pages = [f"{project}/pipelines/{pipeline_id}/test_report", f"{project}/flaky_tests", f"{project}/pipelines/charts"]
    async with browser(site, site.root) as client:
        for path in (*pages, *(f"{project}/unit_tests/{row.id}" for row in rows)):
            response = await client.get(path)
            assert_harmless(response)
            assert len(response.content) < 150_000, "10,000 characters are cut"


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_names_of_jobs_are_text_in_figures(site: Site, name: str) -> None:
    await report(site, fails=False, names=["a"], config=REPORTING)
    async with site.services.database.write() as connection:
        await connection.execute(job_table.update().values(name=name))
    async with browser(site, site.root) as client:
        for query in ({}, {"job": name}, {"job": f"{name} "}):
            assert_harmless(await client.get(f"/{await site.path()}/-/pipelines/charts", params=query))


async def test_a_pipeline_leads_to_its_tests_and_they_to_their_history(site: Site) -> None:
    before = await site.world.pipeline("none: {script: x}\n")
    await site.world.put(await site.world.job(), "success", b"")
    await site.world.settle(before)
    first = await report(site, fails=True, names=["adds"], config=REPORTING)
    again = await report(site, fails=False, names=["adds"], config=REPORTING)
    root = f"/{await site.path()}"
    async with browser(site, site.root) as client:

        async def text(path: str) -> str:
            response = await client.get(f"{root}{path}")
            assert response.status_code == 200, response.text
            return response.text

        assert "test_report" in await text(f"/-/pipelines/{before}")
        assert "No job has handed in a test report" in await text(f"/-/pipelines/{before}/test_report")
        assert f'href="{root}/-/pipelines/{first}/test_report">1 test fails</a>' in await text(f"/-/pipelines/{first}")
        assert "1 test fails" not in await text(f"/-/pipelines/{again}")
        shown = await text(f"/-/pipelines/{first}/test_report")
        assert "Failed 1 time in <bdi>main</bdi> in the last 14 days" in shown
        assert "It failed and passed on the same commit" in shown
        (link,) = set(re.findall(rf'href="{root}(/-/unit_tests/\d+)"', shown))
        history = await text(link)
        assert "1 of the last 2 runs failed" in history
        assert [history.index(f'/-/pipelines/{key}"') for key in (again, first)] == sorted(
            history.index(f'/-/pipelines/{key}"') for key in (again, first)
        )
        listed = await text("/-/flaky_tests")
        assert f'href="{root}{link}"' in listed
        assert "/-/flaky_tests" in await text("")
        assert (await client.get(f"{root}/-/unit_tests/987654")).status_code == 404


async def test_figures_are_drawn_and_written(site: Site) -> None:
    await site.set_project(default_branch="main")
    root = f"/{await site.path()}/-/pipelines/charts"
    async with browser(site, site.root) as client:
        empty = (await client.get(root)).text
        assert "No job has succeeded or failed yet" in empty
        assert 'class="curve"' not in empty
        await report(site, fails=False, names=["a"], config=REPORTING)
        await report(site, fails=True, names=["a"], config=REPORTING)
        now = site.services.clock()
        async with site.services.database.write() as connection:
            times = {"started_at": now - timedelta(seconds=90), "finished_at": now, "coverage": 81.5}
            await connection.execute(job_table.update().values(times))
        drawn = (await client.get(root)).text
    assert_figures(drawn, now.date().isoformat())
    assert 'aria-current="true"' in drawn


def assert_figures(drawn: str, today: str) -> None:
    """Each curve has a title, words, and the numbers once more in a table."""
    elements: list[Any] = Markup(drawn).elements
    pictures = [attributes for tag, attributes in elements if tag == "svg" and attributes.get("role") == "img"]
    assert len(pictures) == 3
    identities = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(set(identities)) == len(identities)
    for picture in pictures:
        assert set(picture["aria-labelledby"].split()) <= set(identities)
    assert f"<title>{today}, succeeded: 50 % of 2</title>" in drawn
    assert f"<title>{today}, coverage: 81.50 %</title>" in drawn
    assert "1 min 30 s" in drawn
    assert len(re.findall("<summary>As a table</summary>", drawn)) == 2
    assert "fill=" in drawn
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', drawn)) == {"currentColor", "currentcolor", "none"}
