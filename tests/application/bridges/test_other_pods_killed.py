"""What is killed, or lost on its way, between two pods: there is one downstream pipeline, and the bridge ends right."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete

from application.bridges import elsewhere, for_other_pods
from domain.errors import Unavailable
from domain.pipelines.status import Status
from models.repositories.pipelines import bridges, cross_pod, outbox
from pods import pod_client
from tests.application.bridges.test_other_pods import DEPEND
from tests.application.bridges.two_pods import OnePod, TwoPods
from tests.fault_point import held_at, is_blocked, side_by_side
from tests.models.world import outbox_table

pytestmark = pytest.mark.slow
"""Two pods for each test; a second and more of each."""


class Killed(BaseException):
    """The process is gone: nothing tidies up after it."""


def kill(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *, after: bool) -> None:
    """The process that comes to this function dies there, once: before it has done anything, or after."""
    real = getattr(module, name)

    async def dying(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(module, name, real)
        if after:
            await real(*given, **named)
        raise Killed

    monkeypatch.setattr(module, name, dying)


async def died(pod: OnePod) -> None:
    """Let a pod carry out what is due for the other one; something dies on the way."""
    try:
        await pod.loop.carry_out_due()
    except (Killed, BaseExceptionGroup):
        return
    raise AssertionError("nothing died")


async def finished(two: TwoPods, parent: int) -> None:
    """All goes on: one pipeline, which runs, and the bridge takes over its end."""
    await two.again()
    (made,) = await two.made()
    assert (await two.bridge(parent)).downstream_id == made.id
    await two.far.here.run("build", Status.FAILED)
    await two.again()
    (made,) = await two.made()
    bridge = await two.bridge(parent)
    assert (made.status, bridge.status, bridge.attempt) == ("failed", "failed", 1)
    assert await two.near.here.world.status(parent) == "failed"
    assert await two.owed() == []


@pytest.mark.parametrize("lost", ["requests", "responses"])
async def test_a_call_that_is_lost_is_sent_again(two: TwoPods, lost: str) -> None:
    parent = await two.begin(DEPEND)
    setattr(two.line, f"lose_{lost}", 1)
    await two.near.loop.carry_out_due()
    assert len(await two.made()) == (lost == "responses")
    assert (await two.bridge(parent)).status == "pending"
    (row,) = await two.near.here.world.rows(outbox_table, kind=outbox.BRIDGE_ELSEWHERE)
    assert (row.attempts, "far" in row.error) == (1, True)
    assert row.payload == {}, "nothing of what is handed down stands there"
    await finished(two, parent)


CALLED = [
    (cross_pod, "lock_project", False),
    (for_other_pods, "_save", True),
    (cross_pod, "keep_upstream", True),
]


@pytest.mark.parametrize(("module", "name", "after"), CALLED)
async def test_the_called_pod_dies_before_it_has_committed(
    two: TwoPods, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, after: bool
) -> None:
    parent = await two.begin(DEPEND)
    kill(monkeypatch, module, name, after=after)
    await died(two.near)
    assert (await two.made(), (await two.bridge(parent)).status) == ([], "pending")
    await finished(two, parent)


async def test_the_called_pod_dies_after_it_has_committed(two: TwoPods, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = await two.begin(DEPEND)
    notifications = two.far.here.site.services.notifications
    kill(monkeypatch, notifications, "notify", after=False)
    await died(two.near)
    assert (len(await two.made()), (await two.bridge(parent)).status) == (1, "pending")
    await finished(two, parent)


NOTED = [
    (elsewhere, "note", False),
    (cross_pod, "keep_downstream", True),
    (bridges, "begin", True),
    (elsewhere, "note", True),
    (elsewhere, "tell", False),
]


@pytest.mark.parametrize(("module", "name", "after"), NOTED)
async def test_the_calling_pod_dies_around_what_it_notes(
    two: TwoPods, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, after: bool
) -> None:
    parent = await two.begin(DEPEND)
    kill(monkeypatch, module, name, after=after)
    await died(two.near)
    status = "running" if name == "tell" else "pending"
    assert (len(await two.made()), (await two.bridge(parent)).status) == (1, status)
    await finished(two, parent)


async def test_a_pod_that_has_not_noted_its_pipeline_yet_is_told_again(
    two: TwoPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await two.begin(DEPEND)
    kill(monkeypatch, elsewhere, "note", after=False)
    await died(two.near)
    await two.far.here.carry_out()
    await two.far.here.run("build")
    await two.far.loop.carry_out_due()
    rows = await two.far.here.world.rows(outbox_table, kind=outbox.TELL_UPSTREAM)
    assert {row.attempts for row in rows} == {1}
    await two.again()
    assert await two.near.here.world.status(parent) == "success"
    assert await two.owed() == []


async def ended_below(two: TwoPods) -> int:
    """The pipeline of a bridge has ended, and nobody was told."""
    parent = await two.begin(DEPEND)
    await two.carry_out()
    await two.far.here.run("build", Status.FAILED)
    return parent


@pytest.mark.parametrize("lost", ["requests", "responses"])
async def test_a_status_that_is_lost_is_told_again(two: TwoPods, lost: str) -> None:
    parent = await ended_below(two)
    setattr(two.line, f"lose_{lost}", 1)
    await two.far.loop.carry_out_due()
    assert (await two.bridge(parent)).status == ("failed" if lost == "responses" else "running")
    assert len(await two.far.here.world.rows(outbox_table, kind=outbox.TELL_UPSTREAM)) == 1
    await two.again()
    bridge = await two.bridge(parent)
    assert (bridge.status, bridge.attempt, await two.owed()) == ("failed", 1, [])


@pytest.mark.parametrize(
    ("module", "name", "after"),
    [(bridges, "lock_followers", False), (cross_pod, "hear", True), (bridges, "tell_of_other_pod", True)],
)
async def test_the_told_pod_dies_before_it_has_committed(
    two: TwoPods, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, after: bool
) -> None:
    parent = await ended_below(two)
    kill(monkeypatch, module, name, after=after)
    await died(two.far)
    assert (await two.bridge(parent)).status == "running"
    await two.again()
    assert ((await two.bridge(parent)).status, await two.owed()) == ("failed", [])


async def test_the_telling_pod_dies_before_it_notes_that_it_has_told(
    two: TwoPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await ended_below(two)
    kill(monkeypatch, cross_pod, "note_told", after=False)
    await died(two.far)
    await two.again()
    bridge = await two.bridge(parent)
    assert (bridge.status, bridge.attempt, await two.owed()) == ("failed", 1, [])


async def test_a_message_that_comes_late_changes_nothing(two: TwoPods) -> None:
    parent = await two.begin(DEPEND)
    await two.carry_out()
    (made,) = await two.made()
    pod = two.directory.by_number[1]
    services = two.near.here.site.services
    async with two.far.here.world.database.read() as connection:
        early = await cross_pod.state_of(connection, made.id)
    assert early is not None
    await two.far.here.run("build")
    await two.carry_out()
    bridge = await two.bridge(parent)
    await elsewhere.hear(services, pod, bridge.id, early)
    await elsewhere.hear(services, pod, bridge.id, replace(early, status=Status.RUNNING))
    await two.again()
    again = await two.bridge(parent)
    assert (again.id, again.status) == (bridge.id, "success")


async def test_a_revival_waits_until_the_end_before_it_is_folded(two: TwoPods) -> None:
    parent = await two.begin(DEPEND)
    await two.carry_out()
    (made,) = await two.made()
    inner = await two.far.here.world.take()
    await two.far.here.world.end(inner, Status.FAILED, reason="script_failure")
    await two.far.here.carry_out()
    await two.far.loop.carry_out_due()
    bridge = await two.bridge(parent)
    assert (bridge.status, bridge.folded) == ("failed", False)
    await two.far.here.ask(made.id, "retry_job", inner)
    await two.far.loop.carry_out_due()
    (row,) = await two.far.here.world.rows(outbox_table, kind=outbox.TELL_UPSTREAM)
    assert row.attempts == 1
    await two.again()
    assert (await two.bridge(parent)).status == "running"


async def test_the_same_request_at_the_same_moment_makes_one_pipeline(
    two: TwoPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    side_by_side(two.far.here.world.database)
    parent = await two.begin(DEPEND)
    async with two.near.here.world.database.read() as connection:
        (row,) = await outbox.unsent(connection, two.near.here.world.now(), 10, outbox.TO_PODS)
    async with held_at(monkeypatch, for_other_pods, "_save", two.near.loop.carry_out(row), behind=True):
        second = asyncio.create_task(two.near.loop.carry_out(row))
        assert await is_blocked(second)
    await second
    assert two.line.statuses == [200, 200]
    await finished(two, parent)


async def test_a_pod_that_answers_nothing_takes_its_own_places_only(
    two: TwoPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_client, "MAX_CONCURRENT", 1)
    far, near = two.directory.by_number[1], two.directory.by_number[0]
    client, hangs = two.near.cluster.pods, asyncio.Event()

    async def wait(_: Any) -> None:
        await hangs.wait()

    two.line.before = wait
    first = asyncio.create_task(client.call(far, "GET", "/-/health", b"", ""))
    other = asyncio.create_task(client.call(near, "GET", "/-/health", b"", ""))
    await asyncio.wait([first, other], timeout=0.05)
    with pytest.raises(Unavailable, match="Pod far answers 1 calls already"):
        await client.call(far, "GET", "/-/health", b"", "")
    hangs.set()
    await asyncio.gather(first, other)


async def test_a_pod_that_left_the_cluster_is_asked_nothing(two: TwoPods) -> None:
    parent = await two.begin(DEPEND)
    two.near.cluster.follower._directory = replace(two.directory, pods=two.directory.pods[:1])
    await two.near.loop.carry_out_due()
    await two.again()
    assert ((await two.bridge(parent)).failure_reason, two.line.seen) == ("downstream_bridge_project_not_found", [])
    async with two.near.here.world.database.write() as connection:
        await connection.execute(delete(outbox_table))
