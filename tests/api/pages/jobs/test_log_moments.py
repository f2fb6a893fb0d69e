"""The line of a log at a moment, by a bounded number of short reads."""

from datetime import UTC, datetime

import httpx
import pytest

from api.pages.jobs import log_moments
from api.v4.jobs import log as logs
from loops.archiver import Archiver
from tests.api.pages.jobs.test_job_log import reading
from tests.api.v4.site import Site

BEGUN = 1_700_000_000
LINES = 60_000


def stamped(number: int) -> bytes:
    """Four lines a second."""
    moment = datetime.fromtimestamp(BEGUN + number / 4, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return f"{moment} 00O line {number} {'x' * 20}\n".encode()


async def line_at(client: httpx.AsyncClient, path: str, seconds: int) -> int | None:
    response = await client.get(f"{path}/log/at", params={"t": seconds})
    assert response.status_code == 200, response.text
    found: int | None = response.json()["line"]
    return found


async def test_any_moment_of_a_long_log_before_and_after_it_was_moved(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []

    def counted(*given: object) -> object:
        start, end = given[2:4]
        assert isinstance(start, int)
        assert isinstance(end, int)
        reads.append(end - start)
        return logs.read_log(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(log_moments, "read_log", counted)
    async with reading(site, b"".join(map(stamped, range(LINES))), "failed") as (client, path, _job):
        for _ in range(2):
            for second in (0, 1, 777, 7_500, 14_999):
                reads.clear()
                assert await line_at(client, path, BEGUN + second) == 4 * second + 1
                assert len(reads) < 9, "fifty checkpoints are searched by halves"
                assert max(reads) <= 4_096
            assert await line_at(client, path, 5) == 1
            assert await line_at(client, path, BEGUN + 15_000) == LINES
            services = site.services
            await Archiver(services.database, services.store, services.notifications).move()


async def test_sections_say_it_where_lines_have_no_stamps(site: Site) -> None:
    log = (
        b"hello\nsection_start:100:a\r\x1b[0KGo\nfine\nsection_end:160:a\r\x1b[0Ksection_start:160:b\r\x1b[0KOn\nrest\n"
    )
    async with reading(site, log) as (client, path, _job):
        found = [await line_at(client, path, second) for second in (99, 100, 159, 160, 10**9)]
    assert found == [1, 2, 2, 4, 4]


async def test_a_log_without_times_and_one_of_nothing_say_nothing(site: Site) -> None:
    async with reading(site, b"hello\n" * 10) as (client, path, _job):
        assert await line_at(client, path, 100) is None
        assert (await client.get(f"{path}/log/at", params={"t": "yesterday"})).status_code == 400
        assert (await client.get(f"{path}/log/at", params={"t": 10**12})).status_code == 400
    async with reading(site, b"") as (client, path, _job):
        assert await line_at(client, path, 100) is None
