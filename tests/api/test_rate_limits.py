"""So many calls a minute, and what callers are told of it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.rate_limits import WINDOW, Throttle
from settings import RateLimits
from tests.api.v4.site import open_site

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_each_token_has_its_own_count_and_a_new_one_each_minute() -> None:
    clock = Clock()
    throttle = Throttle(RateLimits(api_calls=2, anonymous_api_calls=1), clock)
    over = [throttle.note(b"ada", "10.0.0.1").is_over for _ in range(3)]
    assert over == [False, False, True]
    assert not throttle.note(b"bob", "10.0.0.1").is_over
    clock.now += WINDOW
    assert not throttle.note(b"ada", "10.0.0.1").is_over


def test_without_a_token_the_address_counts_and_a_whole_network_of_ipv6() -> None:
    throttle = Throttle(RateLimits(api_calls=9, anonymous_api_calls=1), Clock())
    assert not throttle.note(b"", "2001:db8::1").is_over
    assert throttle.note(b"", "2001:db8::2").is_over
    assert not throttle.note(b"", "2001:db9::1").is_over


def test_the_headers_are_gitlabs() -> None:
    clock = Clock()
    throttle = Throttle(RateLimits(api_calls=1), clock)
    throttle.note(b"ada", "")
    clock.now += 20
    standing = throttle.note(b"ada", "")
    assert standing is not None
    headers = {name.decode(): value.decode() for name, value in standing.headers(NOW)}
    assert headers == {
        "ratelimit-limit": "1",
        "ratelimit-name": "throttle_authenticated_api",
        "ratelimit-observed": "2",
        "ratelimit-remaining": "0",
        "ratelimit-reset": str(int(NOW.timestamp()) + 40),
        "ratelimit-resettime": "Sat, 31 Jan 2026 12:00:40 GMT",
        "retry-after": "40",
    }


def test_nothing_is_counted_where_there_is_no_limit() -> None:
    assert Throttle(RateLimits(api_calls=0), Clock()).note(b"ada", "") is None


@pytest.mark.parametrize("limit", [3])
async def test_calls_that_are_too_many_are_refused_and_runners_never(tmp_path: Path, limit: int) -> None:
    async with open_site(tmp_path, "", rates=RateLimits(api_calls=limit)) as site:
        async with site.client(site.root) as client:
            codes = [(await client.get("/api/v4/version")).status_code for _ in range(limit)]
            refused = await client.get("/api/v4/version")
        assert codes == [200] * limit
        assert (refused.status_code, refused.text) == (429, "Retry later\n")
        assert 0 < int(refused.headers["retry-after"]) <= WINDOW
        await site.world.pipeline("one: {script: x}\n")
        for _ in range(limit + 2):
            assert (await site.world.request()).status_code in {201, 204}
