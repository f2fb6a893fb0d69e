"""Names, in the code and in the documentation."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.exposing import exposition_of
from metrics import names
from metrics.definition import By, Kind
from metrics.exposition import Exposition
from metrics.front_metrics import FrontMetrics
from pods.directory.figures import measured
from pods.directory.server import opened
from tests.api.v4.site import Site, open_site
from tests.docs.metrics_table import PAGE, page
from tests.metrics.promtool import promtool
from tests.metrics.scraping import Scrape
from tests.pods.directory.served import directory_settings

GITLAB = ("gitlab_ci_", "job_queue_", "job_register_", "http_request", "pipelines_created")


def test_the_page_has_the_table_of_now() -> None:
    assert PAGE.read_text() == page(), "run `python -m tests.docs.metrics_table`"


def test_each_name_is_there_once_and_is_ours_or_gitlab_s() -> None:
    assert max(Counter(one.name for one in names.ALL).values()) == 1
    assert [one.name for one in names.ALL if not one.name.startswith(("perdure_", *GITLAB))] == []


def test_names_end_as_prometheus_wants_them() -> None:
    for one in names.ALL:
        assert one.name.endswith("_total") is (one.kind is Kind.COUNTER), one.name
        assert bool(one.buckets) is (one.kind is Kind.HISTOGRAM), one.name
        assert sorted(one.buckets) == list(one.buckets), one.name


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation in which nothing has happened."""
    async with open_site(tmp_path, sqlite_url) as opened:
        yield opened


async def test_an_idle_server_tells_every_name_and_no_other_of_ours(site: Site) -> None:
    text = (await exposition_of(site.services).text()).decode()
    told = Scrape(text)
    wanted = [one for one in names.ALL if one.by not in {By.FRONT, By.DIRECTORY}]
    assert [one.name for one in wanted if not told.has(one)] == []
    known = {one.name.removesuffix("_total") for one in wanted}
    assert {name for name in told.families if name.startswith(("perdure_", *GITLAB))} == known
    promtool("check", "metrics", stdin=text.encode())


async def test_an_idle_front_tells_every_name_and_no_other_of_ours() -> None:
    tells_its_names((await Exposition(FrontMetrics().registry).text()).decode(), By.FRONT)


async def test_an_idle_directory_tells_every_name_and_no_other_of_ours(tmp_path: Path) -> None:
    async with opened(directory_settings(tmp_path)) as parts:
        figures = measured(parts.store, parts.metrics)
        text = (await Exposition(parts.metrics.registry, [figures.refresh]).text()).decode()
    tells_its_names(text, By.DIRECTORY)


def tells_its_names(text: str, by: By) -> None:
    """What a process tells that is neither API nor worker has every name of such a process, and no other of ours."""
    told = Scrape(text)
    wanted = [one for one in names.ALL if one.by in {by, By.EVERY}]
    assert [one.name for one in wanted if not told.has(one)] == []
    assert {name for name in told.families if name.startswith("perdure_")} == {
        one.name.removesuffix("_total") for one in wanted
    }
    promtool("check", "metrics", stdin=text.encode())
