"""So many calls a minute, and what callers are told of it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from api.pods.job_of_pod import SCOPE
from api.rate_limits import RateLimited, Throttle
from application.jobs.calls_of_other_pods import JobOfPod
from application.limits.windows import WINDOW
from auth.session_token import COOKIE
from domain.pods.directory import Pod
from domain.pods.job_calls import CallingJob
from settings import RateLimits
from tests.api.v4.site import open_site

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def is_over(throttle: Throttle, token: bytes, address: str) -> bool:
    """Note a call; whether it was one too many."""
    standing = throttle.note(token, address)
    assert standing is not None
    return standing.is_over


def test_each_token_has_its_own_count_and_a_new_one_each_minute() -> None:
    clock = Clock()
    throttle = Throttle(RateLimits(api_calls=2, anonymous_api_calls=1), clock)
    throttle.note_known(b"ada")
    throttle.note_known(b"bob")
    over = [is_over(throttle, b"ada", "10.0.0.1") for _ in range(3)]
    assert over == [False, False, True]
    assert not is_over(throttle, b"bob", "10.0.0.1")
    clock.now += WINDOW
    assert not is_over(throttle, b"ada", "10.0.0.1")


def test_a_new_word_each_time_counts_for_the_address_until_it_is_somebodys() -> None:
    throttle = Throttle(RateLimits(api_calls=9, anonymous_api_calls=2), Clock())
    over = [is_over(throttle, word, "10.0.0.1") for word in (b"a", b"b", b"c", b"d")]
    assert over == [False, False, True, True]
    assert not is_over(throttle, b"a", "10.0.0.2")
    throttle.note_known(b"c")
    assert not is_over(throttle, b"c", "10.0.0.1")


def test_without_a_token_the_address_counts_and_a_whole_network_of_ipv6() -> None:
    throttle = Throttle(RateLimits(api_calls=9, anonymous_api_calls=1), Clock())
    assert not is_over(throttle, b"", "2001:db8::1")
    assert is_over(throttle, b"", "2001:db8::2")
    assert not is_over(throttle, b"", "2001:db9::1")


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


async def test_words_that_are_no_tokens_are_too_many_together(tmp_path: Path) -> None:
    async with open_site(tmp_path, "", rates=RateLimits(anonymous_api_calls=3)) as site:
        async with site.client(site.root) as client:
            assert (await client.get("/api/v4/projects")).status_code == 200
        async with site.client() as client:
            words = [{"Private-Token": f"word-{number}"} for number in range(5)]
            words += [{"Cookie": f"{COOKIE}=word-{number}"} for number in range(2)]
            codes = [(await client.get("/api/v4/projects", headers=word)).status_code for word in words]
        assert codes == [401] * 2 + [429] * 5  # one was root's first
        async with site.client(site.root) as client:
            responses = [await client.get("/api/v4/projects", headers={"Cookie": f"any={n}"}) for n in range(5)]
        assert [response.status_code for response in responses] == [200] * 5


async def test_what_another_pod_says_of_its_jobs_is_counted_there() -> None:
    """All of it comes from one address."""
    reached: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(dict(scope))

    async def receive() -> Message:
        return {}

    async def send(_: Message) -> None:
        pass

    throttle = Throttle(RateLimits(anonymous_api_calls=1), Clock())
    limited = RateLimited(app, throttle, lambda: datetime.now(UTC))
    scope: Scope = {"type": "http", "method": "GET", "path": "/api/v4/projects/1", "headers": [], "query_string": b""}
    job = CallingJob(1, 2, "near/app", (), "ada", 3, 4, (), 1)
    for _ in range(3):
        await limited({**scope, SCOPE: JobOfPod(Pod(0, "near"), job)}, receive, send)
    assert len(reached) == 3
