"""The list of a project's pipelines: narrowed, paged, each with its stages, and hostile texts in it."""

import re
from typing import Any
from urllib.parse import quote

from auth.permissions import DEVELOPER
from models.repositories.pipelines import overview
from tests.api.pages.pipelines.test_pipeline import run_next, text_of
from tests.api.pages.projects.test_unit_tests import HOSTILE, assert_harmless
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site

ONE = "stages: [build, test]\none: {stage: build, script: x}\ntwo: {stage: test, script: x}\n"


def listed_in(page: str) -> list[int]:
    """The ids of the pipelines of a list."""
    return [int(key) for key in re.findall(r'<li class="pipeline-row" id="pipeline-(\d+)">', page)]


async def change(site: Site, pipeline: int, **values: Any) -> None:
    """Write columns of a pipeline."""
    async with site.services.database.write() as connection:
        await connection.execute(overview.pipeline.update().where(overview.pipeline.c.id == pipeline).values(values))


async def test_pipelines_are_narrowed(site: Site) -> None:
    first, second, third = [await site.world.pipeline(ONE) for _ in range(3)]
    dora = await site.person("dora", DEVELOPER)
    await change(site, first, ref="feature/a b", source="web")
    await change(site, second, user_id=dora.id, status="failed")

    async def found(query: str) -> list[int]:
        return listed_in(await text_of(site, f"?{query}"))

    assert await found("") == [third, second, first]
    assert await found(f"ref={quote('feature/a b', safe='')}") == [first]
    assert await found("status=failed") == [second]
    assert await found("source=web") == [first]
    assert await found("username=dora") == [second]
    assert await found("username=nobody") == []
    assert await found("username=root&source=push") == [third]
    page = await text_of(site, "?status=canceled")
    assert "No pipeline is like that" in page
    assert '<option value="canceled" selected>' in page


async def test_each_pipeline_shows_its_stages(site: Site) -> None:
    pipeline = await site.world.pipeline(ONE)
    await run_next(site, pipeline)
    page = await text_of(site, "")
    assert 'aria-label="Stages: build passed, test pending"' in re.sub(r"\s+", " ", page)


async def test_pages_keep_what_was_chosen(site: Site) -> None:
    made = [await site.world.pipeline(ONE) for _ in range(32)]
    first, second = await text_of(site, "?source=push"), await text_of(site, "?source=push&page=2")
    assert listed_in(first) + listed_in(second) == sorted(made, reverse=True)
    assert 'href="?source=push&amp;page=2"' in first


async def test_hostile_texts_are_text(site: Site) -> None:
    for text in HOSTILE:
        commit = {"title": text, "message": text, "author_name": text, "author_email": text}
        commit["timestamp"] = "2026-01-02T03:04:05+00:00"
        pipeline = await site.world.pipeline(ONE, commit=commit)
        await change(site, pipeline, ref=text, schedule_description=text, source="schedule", status_reason=text)
    async with browser(site, site.root) as client:
        root = f"/{await site.path()}/-/pipelines"
        assert_harmless(await client.get(root))
        for view in ("", "/builds", "/timeline", "/history", "/config", "/security"):
            assert_harmless(await client.get(f"{root}/{pipeline}{view}"))
        for text in HOSTILE[:-2]:
            assert_harmless(await client.get(root, params={"ref": text, "username": text[:900]}))
            assert_harmless(
                await client.get(f"{root}/{pipeline}/builds", params={"name": text[:900], "stage": text[:900]})
            )


async def test_a_name_is_isolated_in_questions() -> None:
    from api.pages.pipelines.deeds import canceling, retrying
    from models.repositories.pipelines.overview import NamedJob, Tally

    tallies = [
        Tally("failed", False, 2),
        Tally("canceled", False, 1),
        Tally("skipped", False, 4),
        Tally("running", True, 1),
    ]
    jobs = [NamedJob(at, name, "failed") for at, name in enumerate(["\u202ea", "b" * 100])]
    again = retrying(tallies, jobs)
    assert again is not None
    assert again.text == "Retry 2 failed and 1 canceled jobs"
    assert again.question == (
        f"Retry 2 failed and 1 canceled jobs: \u2068\u202ea\u2069, \u2068{'b' * 60}…\u2069 and 1 more?"
        " 4 skipped jobs may run after them."
    )
    stop = canceling(tallies, [NamedJob(9, "c", "running")])
    assert stop is not None
    assert (stop.text, stop.question) == ("Cancel 1 job", "Cancel 1 job: \u2068c\u2069? 1 of them runs now.")
    assert canceling([Tally("success", False, 3)], []) is None
    assert retrying([Tally("success", False, 3), Tally("skipped", False, 1)], []) is None
