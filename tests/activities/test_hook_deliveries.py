"""Delivering events to webhooks: a real receiver, both databases, every attempt on record."""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import update
from standardwebhooks.webhooks import Webhook

from activities.hooks.deliveries import HookActivities, NotYet
from application.pipelines.sealed_values import seal_of
from auth.encryption import open_sealer
from domain.environments.places import Place
from domain.hooks.webhooks import Event, bits_of
from domain.messages import DeliverHook
from domain.pipelines.status import Status
from domain.sealed_for import HOOK
from models.clock import system_clock
from models.columns import table_of
from models.notifications import Notifications
from models.repositories.artifacts import releases
from models.repositories.environments import environments, reported_deployments
from models.repositories.environments.reported_deployments import Report
from models.repositories.hooks import hook_deliveries, hooks, webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.repositories.owner import Owner
from models.tables.hooks import Hook, HookDelivery
from outbound.post import Poster, PostLimits
from settings import Settings, TimeLimits
from tests.activities.receiver import local_poster, receiving
from tests.includes.serving import serving
from tests.models.world import World

URL = "http://perdure.example"
KEY = "whsec_" + base64.b64encode(bytes(range(32))).decode()

hook_table = table_of(Hook)
deliveries = table_of(HookDelivery)


@dataclass
class Desk:
    """A world with a webhook, and the activity that delivers to it; the time is what the test says."""

    world: World
    folder: Path
    poster: Poster = field(default_factory=local_poster)
    late: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        self.settings = Settings(home=self.folder, external_url=URL, times=TimeLimits(hook_patience=1000))
        self.sealer = open_sealer(self.settings)

    def now(self) -> datetime:
        return system_clock() + self.late

    async def hook(self, url: str, *wanted: Event, **values: Any) -> int:
        async with self.world.database.write() as connection:
            return await hooks.add(
                connection, Owner(self.world.project_id), self.now(), url=url, events=bits_of(wanted), **values
            )

    def sealed(self, text: str) -> str:
        return self.sealer.seal(text, HOOK)

    async def deliver(self, delivery_id: int) -> str:
        """An attempt: how it ended, or for how many seconds to wait."""
        activities = HookActivities(
            self.world.database, Notifications(), self.poster, self.sealer, self.now, self.settings
        )
        try:
            return await activities.deliver_hook(DeliverHook(delivery_id))
        except NotYet as later:
            return f"again in {(later.next_retry_delay or timedelta()).total_seconds():g}"

    async def deliver_all(self) -> list[str]:
        return [await self.deliver(row.id) for row in await self.rows(state="open")]

    async def rows(self, **equal: Any) -> Sequence[Any]:
        return await self.world.rows(deliveries, **equal)

    async def row(self, **equal: Any) -> Any:
        return await self.world.row(deliveries, **equal)

    async def happen(self, **values: Any) -> None:
        """A tag is pushed."""
        facts = {
            "before": "0" * 40,
            "after": "c" * 40,
            "ref": "refs/tags/v1",
            "ref_protected": False,
            "checkout_sha": "d" * 40,
            "message": "first",
            "commits": [],
            "total": 0,
        }
        told = Happening(self.world.project_id, Event.TAG_PUSH, self.world.user_id, facts=facts | values)
        async with self.world.database.write() as connection:
            await webhook_events.note(connection, [told], self.now())


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    """The desk of a test."""
    return Desk(world, tmp_path)


async def test_pipelines_and_jobs_arrive_as_they_were_then(desk: Desk) -> None:
    """Everything is delivered after the end, and still each body tells what was true at its time."""
    world = desk.world
    async with receiving() as receiver:
        await desk.hook(receiver.url, Event.PIPELINE, Event.JOB)
        variables = ({"key": "A", "value": "1"},)
        pipeline_id = await world.create(variables=variables, seal=seal_of(desk.sealer))
        await world.settle(pipeline_id)
        build = await world.take()
        await world.end(build)
        await world.settle(pipeline_id)
        test = await world.take()
        await world.end(test, Status.FAILED, reason="script_failure")
        await world.settle(pipeline_id)
        assert set(await desk.deliver_all()) == {"delivered"}
    pipelines = [one.body for one in receiver.got if one.headers["X-Gitlab-Event"] == "Pipeline Hook"]
    jobs = [one.body for one in receiver.got if one.headers["X-Gitlab-Event"] == "Job Hook"]
    assert [one["object_attributes"]["status"] for one in pipelines] == ["created", "pending", "running", "failed"]
    created, _, running, failed = pipelines
    assert [one["status"] for one in created["builds"]] == ["created", "created"]
    assert [one["status"] for one in running["builds"]] == ["running", "created"]
    assert [one["status"] for one in failed["builds"]] == ["success", "failed"]
    assert created["object_attributes"]["finished_at"] is running["object_attributes"]["finished_at"] is None
    assert created["builds"][0]["runner"] is created["builds"][0]["started_at"] is None
    assert running["builds"][0]["runner"]["id"] == world.runner_id
    assert running["builds"][0]["finished_at"] is None
    assert failed["builds"][1]["failure_reason"] == "script_failure"
    attributes = failed["object_attributes"]
    assert attributes["finished_at"].endswith(" UTC")
    assert (attributes["id"], attributes["stages"]) == (pipeline_id, ["build", "test"])
    assert attributes["variables"] == [{"key": "A", "value": "1"}]
    assert attributes["url"] == f"{URL}/acme/tool/-/pipelines/{pipeline_id}"
    assert (failed["object_kind"], failed["user"]["username"]) == ("pipeline", "ada")
    assert failed["project"]["path_with_namespace"] == "acme/tool"
    assert failed["project"]["namespace"] == "Acme"
    of_build = [one for one in jobs if one["build_id"] == build]
    assert [one["build_status"] for one in of_build] == ["created", "pending", "running", "success"]
    assert [one["commit"]["status"] for one in of_build] == ["created", "created", "running", "running"]
    assert [one["build_finished_at"] is None for one in of_build] == [True, True, True, False]
    assert [one["runner"] is None for one in of_build] == [True, True, False, False]
    last = jobs[-1]
    assert (last["object_kind"], last["build_failure_reason"], last["retries_count"]) == ("build", "script_failure", 0)
    assert (last["commit"]["id"], last["pipeline_id"]) == (pipeline_id, pipeline_id)


async def test_headers_signature_and_the_record(desk: Desk) -> None:
    async with receiving() as receiver:
        await desk.hook(
            receiver.url + "/{where}?a=1",
            Event.TAG_PUSH,
            token=desk.sealed("s3cret"),
            signing_token=desk.sealed(KEY),
            custom_headers=desk.sealed('{"X-Mine": "hidden"}'),
            url_variables=desk.sealed('{"where": "here"}'),
        )
        await desk.happen()
        assert await desk.deliver_all() == ["delivered"]
        assert await desk.deliver((await desk.row()).id) == "delivered", "a repetition does nothing"
    (got,) = receiver.got
    assert Webhook(KEY).verify(got.raw, got.headers)["ref"] == "refs/tags/v1"
    row = await desk.row()
    assert got.path == "/here?a=1"
    assert got.headers["X-Gitlab-Token"] == "s3cret"
    assert got.headers["X-Mine"] == "hidden"
    assert got.headers["Idempotency-Key"] == got.headers["webhook-id"] == row.uuid
    assert got.headers["X-Gitlab-Event"] == "Tag Push Hook"
    assert got.headers["X-Gitlab-Instance"] == URL
    assert (row.state, row.attempts, row.response_status, row.response_body) == ("delivered", 1, 200, "heard")
    assert (row.request_headers["X-Gitlab-Token"], row.request_headers["X-Mine"]) == ("[REDACTED]", "[REDACTED]")
    written = [row for table in (hook_table, deliveries) for row in await desk.world.rows(table)]
    stored = " ".join(str(value) for row in written for value in row)
    assert not [secret for secret in ("s3cret", KEY, "hidden") if secret in stored]
    assert "refs/tags/v1" not in stored


async def test_one_that_fails_twice_gets_the_same_a_third_time(desk: Desk) -> None:
    async with receiving(500, 503, 200) as receiver:
        await desk.hook(receiver.url, Event.TAG_PUSH)
        await desk.happen()
        (row,) = await desk.rows()
        assert [await desk.deliver(row.id) for _ in range(3)] == ["again in 5", "again in 10", "delivered"]
    first, second, third = receiver.got
    assert first.raw == second.raw == third.raw
    assert len({one.headers["Idempotency-Key"] for one in receiver.got}) == 1
    row = await desk.row()
    assert [one["status"] for one in row.tries] == [500, 503, 200]
    assert (row.attempts, row.state, row.response_status) == (3, "delivered", 200)
    assert (await desk.world.row(hook_table)).failures == 0


async def test_a_refusal_is_final_and_a_receiver_may_say_when(desk: Desk) -> None:
    async with receiving(404, 429) as receiver:
        receiver.headers["Retry-After"] = "77"
        await desk.hook(receiver.url, Event.TAG_PUSH)
        await desk.happen()
        await desk.happen()
        assert await desk.deliver_all() == ["failed", "again in 77"]
    refused, later = await desk.rows()
    assert (refused.state, refused.response_status) == ("failed", 404)
    assert later.state == "open"
    assert later.due_at > later.attempted_at + timedelta(seconds=77)


async def test_one_that_never_answers_is_tried_again_until_patience_ends(desk: Desk) -> None:
    never = asyncio.Event()

    async def silent(_request: web.BaseRequest) -> web.Response:
        await never.wait()
        raise AssertionError

    desk.poster = local_poster(0.2)
    async with serving(silent) as served:
        await desk.hook(served.url(""), Event.TAG_PUSH)
        await desk.happen()
        (row,) = await desk.rows()
        assert await desk.deliver(row.id) == "again in 5"
        desk.late = timedelta(seconds=999)
        assert await desk.deliver(row.id) == "failed"
    row = await desk.row()
    assert (row.state, row.response_status, len(row.tries)) == ("failed", None, 2)
    assert "within 0.2 s" in row.error


async def test_an_address_inside_is_refused_for_good_and_that_is_on_record(desk: Desk) -> None:
    desk.poster = Poster(PostLimits(total=5))
    async with receiving() as receiver:
        await desk.hook(receiver.url, Event.TAG_PUSH)
        await desk.happen()
        assert await desk.deliver_all() == ["failed"]
    assert receiver.got == []
    assert "not on the public internet" in (await desk.row()).error


async def test_redirects_lead_nowhere(desk: Desk) -> None:
    async with receiving() as inside, receiving(302) as receiver:
        receiver.headers["Location"] = inside.url
        await desk.hook(receiver.url, Event.TAG_PUSH)
        await desk.happen()
        assert await desk.deliver_all() == ["failed"]
    assert (inside.got, (await desk.row()).response_status) == ([], 302)


async def test_a_failing_hook_is_switched_off_and_on_again_by_a_success(desk: Desk) -> None:
    async with receiving(500) as receiver:
        key = await desk.hook(receiver.url, Event.TAG_PUSH)
        for _ in range(5):
            await desk.happen()
        rows = await desk.rows()
        assert [await desk.deliver(row.id) for row in rows[:4]] == ["again in 5"] * 4
        assert (await desk.world.row(hook_table)).failures == 4
        (held,) = [row for row in await desk.rows() if row.id == rows[4].id]
        waits = float((await desk.deliver(held.id)).removeprefix("again in "))
        assert 55 < waits < 62
        assert len(receiver.got) == 4, "nothing is sent while it is off"
        assert (await desk.row(id=held.id)).attempts == 0
        receiver.statuses = [200]
        desk.late = timedelta(seconds=70)
        assert await desk.deliver(held.id) == "delivered"
        row = await desk.world.row(hook_table, id=key)
    assert (row.failures, row.disabled_until) == (0, None)


async def test_a_hook_that_is_off_for_good_gets_nothing_but_a_test(desk: Desk) -> None:
    async with receiving() as receiver:
        key = await desk.hook(receiver.url, Event.TAG_PUSH)
        await desk.happen()
        (row,) = await desk.rows()
        async with desk.world.database.write() as connection:
            await connection.execute(update(hook_table).values(failures=40))
        assert await desk.deliver(row.id) == "failed"
        assert receiver.got == []
        async with desk.world.database.write() as connection:
            test = await hook_deliveries.add(connection, key, row.event_id, desk.now())
        assert await desk.deliver(test) == "delivered"
    assert (await desk.world.row(hook_table)).failures == 0


async def test_a_deleted_hook_gets_nothing(desk: Desk) -> None:
    async with receiving() as receiver:
        key = await desk.hook(receiver.url, Event.TAG_PUSH)
        await desk.happen()
        (row,) = await desk.rows()
        async with desk.world.database.write() as connection:
            await hooks.remove(connection, key, Owner(desk.world.project_id))
        assert await desk.deliver(row.id) == "gone"
    assert receiver.got == []


async def test_a_lost_key_is_a_failure_on_record(desk: Desk) -> None:
    async with receiving() as receiver:
        await desk.hook(receiver.url, Event.TAG_PUSH, token=desk.sealed("x"))
        await desk.happen()
        desk.sealer = open_sealer(Settings(home=desk.folder / "other"))
        assert await desk.deliver_all() == ["again in 5"]
    assert receiver.got == []
    assert "is not here" in (await desk.row()).error


async def test_a_release_and_a_deployment(desk: Desk) -> None:
    world = desk.world
    async with receiving() as receiver:
        await desk.hook(receiver.url, Event.RELEASE, Event.DEPLOYMENT)
        values = {
            "project_id": world.project_id,
            "user_id": world.user_id,
            "tag": "v1",
            "name": "One",
            "description": "first",
            "sha": "c0ffee",
            "milestones": [],
            "assets": {"links": [{"name": "a", "url": "https://x.example/", "link_type": "other"}]},
            "released_at": world.now(),
        }
        async with world.database.write() as connection:
            await releases.add(connection, world.now(), **values)
            await releases.remove(connection, await releases.get(connection, world.project_id, "v1"), world.now())
        await world.begin("live: {script: x, environment: {name: live, url: 'https://l.example'}}")
        job_id = await world.take()
        await world.end(job_id)
        await desk.deliver_all()
    made, gone, started, ended = (one.body for one in receiver.got)
    assert (made["action"], gone["action"], made["tag"], made["name"]) == ("create", "delete", "v1", "One")
    assert made["assets"]["links"] == [{"id": 1, "name": "a", "url": "https://x.example/", "link_type": "other"}]
    assert (started["status"], ended["status"], ended["environment"]) == ("running", "success", "live")
    assert (ended["object_kind"], ended["deployable_id"]) == ("deployment", job_id)


async def test_a_deployment_that_no_job_made(desk: Desk) -> None:
    world, place = desk.world, Place("live", tier="production", slug="live")
    report = Report(world.project_id, world.user_id, "main", False, "c" * 40, Status.RUNNING, "Add a thing")
    async with receiving() as receiver:
        await desk.hook(receiver.url, Event.DEPLOYMENT)
        async with world.database.write() as connection:
            ids = await environments.ensure(connection, world.project_id, [place], world.now())
            made = await reported_deployments.take(connection, ids["live"], report, world.now())
        await desk.deliver_all()
    (body,) = (one.body for one in receiver.got)
    assert (body["object_kind"], body["status"], body["deployment_id"]) == ("deployment", "running", made)
    assert (body["deployable_id"], body["deployable_url"]) == (None, None)
    assert (body["environment"], body["environment_tier"], body["environment_slug"]) == ("live", "production", "live")
    assert (body["ref"], body["short_sha"], body["commit_title"]) == ("main", "c" * 8, "Add a thing")
    assert body["commit_url"].endswith(f"/-/commit/{'c' * 40}")
    assert body["user"]["username"] == "ada"
