"""What may be done so often in a minute, and what callers are told of it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.errors import headers_of, status_of
from application.limits.actions import ActionLimits, Limited
from application.limits.windows import WINDOW
from domain.errors import TooMany
from settings import RateLimits
from tests.activities.receiver import NETWORK, receiving
from tests.api.v4.hooks.delivering import told
from tests.api.v4.site import Site, open_site

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
CONFIG = "build: {script: make}\n"


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """An installation with small limits, that may reach the receivers of tests."""
    rates = RateLimits(hook_tests=2, hook_resends=1, pipelines_created=2, schedule_plays=1, configurations_checked=2)
    async with open_site(tmp_path, "", outbound_networks=NETWORK, rates=rates) as opened:
        yield opened


def test_each_kind_and_each_person_has_a_count_of_its_own() -> None:
    clock = Clock()
    limits = ActionLimits(RateLimits(hook_tests=1, schedule_plays=1), lambda: NOW, clock)
    limits.note(Limited.HOOK_TEST, "project", 1, 7)
    limits.note(Limited.HOOK_TEST, "project", 1, 8)
    limits.note(Limited.HOOK_TEST, "project", 11, 7)
    limits.note(Limited.SCHEDULE_PLAY, "project", 1, 7)
    clock.now += 20
    with pytest.raises(TooMany) as caught:
        limits.note(Limited.HOOK_TEST, "project", 1, 7)
    assert status_of(caught.value) == 429
    assert headers_of(caught.value) == {
        "RateLimit-Limit": "1",
        "RateLimit-Name": "web_hook_test",
        "RateLimit-Observed": "2",
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": str(int(NOW.timestamp()) + 40),
        "RateLimit-ResetTime": "Sat, 31 Jan 2026 12:00:40 GMT",
        "Retry-After": "40",
    }
    clock.now += WINDOW - 20
    limits.note(Limited.HOOK_TEST, "project", 1, 7)


def test_nothing_is_counted_where_there_is_no_limit() -> None:
    limits = ActionLimits(RateLimits(hook_tests=0), lambda: NOW, Clock())
    for _ in range(20):
        limits.note(Limited.HOOK_TEST, "project", 1, 7)


def test_the_defaults_are_gitlabs() -> None:
    rates = RateLimits()
    assert (rates.hook_tests, rates.hook_resends, rates.schedule_plays, rates.pipelines_created) == (5, 5, 0, 0)
    assert rates.configurations_checked == 0


async def made(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    response = await client.post(path, json=body)
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def refused(response: httpx.Response, name: str) -> bool:
    """Whether a response says in GitLab's way that it was too often."""
    text = {"message": {"error": "This endpoint has been requested too many times. Try again later."}}
    headers = response.headers.get_list("ratelimit-name")
    return (response.status_code, response.json(), headers) == (429, text, [name]) and (
        0 < int(response.headers["retry-after"]) <= WINDOW
    )


async def test_webhooks_are_tried_out_and_told_again_only_so_often(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    ada = await site.person("ada", 40)
    async with receiving() as receiver, told(site), site.client(site.root) as client, site.client(ada) as other:
        base = f"/api/v4/projects/{site.world.project_id}/hooks"
        one, two = [(await made(client, base, url=receiver.url))["id"] for _ in range(2)]
        test = [(await client.post(f"{base}/{key}/test/push_events")).status_code for key in (one, two)]
        assert test == [201, 201]
        assert refused(await client.post(f"{base}/{one}/test/push_events"), "web_hook_test")
        assert (await other.post(f"{base}/{one}/test/push_events")).status_code == 201
        event = (await client.get(f"{base}/{one}/events")).json()[0]["id"]
        assert (await client.post(f"{base}/{one}/events/{event}/resend")).status_code == 201
        assert refused(await client.post(f"{base}/{one}/events/{event}/resend"), "web_hook_event_resend")
        system = (await made(client, "/api/v4/hooks", url=receiver.url))["id"]
        codes = [(await client.post(f"/api/v4/hooks/{system}")).status_code for _ in range(3)]
        assert codes == [201, 201, 429]


async def test_a_schedule_is_played_once_a_minute_by_each(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    ada = await site.person("ada", 40)
    async with site.client(site.root) as client, site.client(ada) as other:
        base = f"/api/v4/projects/{site.world.project_id}/pipeline_schedules"
        key = (await made(client, base, description="x", ref="main", cron="0 1 * * *"))["id"]
        assert (await client.post(f"{base}/{key}/play")).status_code == 201
        assert refused(await client.post(f"{base}/{key}/play"), "play_pipeline_schedule")
        assert (await other.post(f"{base}/{key}/play")).status_code == 201


async def test_so_many_pipelines_of_a_commit_whoever_starts_them(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    ada = await site.person("ada", 40)
    async with site.client(site.root) as client, site.client(ada) as other:
        base = f"/api/v4/projects/{site.world.project_id}"
        token = (await made(client, f"{base}/triggers", description="x"))["token"]
        assert (await client.post(f"{base}/pipeline", json={"ref": "main"})).status_code == 201
        call = {"token": token, "ref": "main"}
        assert (await client.post(f"{base}/trigger/pipeline", json=call)).status_code == 201
        assert refused(await client.post(f"{base}/trigger/pipeline", json=call), "pipelines_create")
        assert refused(await client.post(f"{base}/pipeline", json={"ref": "main"}), "pipelines_create")
        assert (await other.post(f"{base}/pipeline", json={"ref": "main"})).status_code == 201
        assert len((await client.get(f"{base}/pipelines")).json()) == 3


async def test_each_person_has_so_many_configurations_checked(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    ada = await site.person("ada", 40)
    async with site.client(site.root) as client, site.client(ada) as other:
        lint = f"/api/v4/projects/{site.world.project_id}/ci/lint"
        assert (await client.get(lint)).status_code == 200
        assert (await client.post(lint, json={"content": CONFIG})).status_code == 200
        assert refused(await client.get(lint), "ci_lint")
        assert refused(await client.post(lint, json={"content": CONFIG}), "ci_lint")
        assert (await other.get(lint)).status_code == 200


async def test_what_was_too_often_is_done_later_under_the_same_key(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    async with site.client(site.root) as client:
        path = f"/api/v4/projects/{site.world.project_id}/pipeline"
        key = {"Idempotency-Key": "the third"}
        for _ in range(2):
            await made(client, path, ref="main")
        assert (await client.post(path, json={"ref": "main"}, headers=key)).status_code == 429
        site.services.limits._windows._counts.clear()  # a minute later
        first = await client.post(path, json={"ref": "main"}, headers=key)
        again = await client.post(path, json={"ref": "main"}, headers=key)
        assert (first.status_code, again.json()["id"]) == (201, first.json()["id"])
