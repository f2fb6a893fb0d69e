"""Schedules while servers die: each tick is accounted for, none makes a second pipeline."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from temporalio.client import Client, ScheduleActionExecutionStartWorkflow, ScheduleDescription
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError

from tests.faults.kill_points import Step
from tests.faults.killed_scheduler import POINTS
from tests.faults.killed_server import ARMED, DIED, Trap
from tests.faults.ledger import Ledger
from tests.faults.played_pod import PlayedPod, played_pod
from tests.project import Project
from tests.server import Server
from tests.temporal import new_namespace, temporal_server
from tests.waiting import eventually
from workflows.schedules import PREFIX

pytestmark = pytest.mark.slow

FILES = {".gitlab-ci.yml": "build: {script: make}\n"}
WITHIN = 60.0
MINUTE = timedelta(minutes=1)


class Scheduled:
    """A server with a project, which a test kills where it likes."""

    def __init__(self, server: Server, trap: Trap, client: Client, project: int) -> None:
        self.server = server
        self.trap = trap
        self.temporal = client
        self.project = project
        self.ledger = Ledger(server.home)

    def deaths(self) -> int:
        """How often the server has died."""
        return self.server.program.log.read_text().count(DIED)

    async def schedule(self, **fields: Any) -> int:
        """Make a schedule, whatever dies meanwhile; its id."""
        return await make_schedule(self.server, self.project, **fields)


async def described(client: Client, schedule_id: int) -> ScheduleDescription | None:
    """Temporal's schedule; None while it is not there or Temporal is away."""
    try:
        return await client.get_schedule_handle(f"{PREFIX}{schedule_id}").describe()
    except RPCError:
        return None


async def make_schedule(server: Server, project: int, **fields: Any) -> int:
    """Make a schedule over the REST API; its id."""
    body = {"description": "nightly", "ref": "main", "cron": "0 0 1 1 *", **fields}
    address = f"/api/v4/projects/{project}/pipeline_schedules"

    async def newest() -> int:
        try:
            async with server.client() as again:
                return max(int(one["id"]) for one in (await again.get(address)).json())
        except httpx.TransportError:
            return 0

    try:
        async with server.client() as client:
            response = await client.post(address, json=body)
    except httpx.RemoteProtocolError:
        # The server died with the schedule in SQL, before it answered: whoever asked looks whether it is there.
        return int(await eventually(newest, "the server is back", WITHIN))
    assert response.status_code == httpx.codes.CREATED, response.text
    return int(response.json()["id"])


@pytest.fixture(scope="module")
async def scheduled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scheduled]:
    folder = tmp_path_factory.mktemp("scheduled")
    # What a killed worker held of a workflow is given to the next after 2 s, not 10: nothing here is about that.
    async with temporal_server(folder, {"history.defaultWorkflowTaskTimeout": 2}) as address:
        namespace = await new_namespace(address)
        trap = Trap(folder / "armed.json")
        times = {"reconcile_every": 1, "tick_patience": 5, "temporal_namespace": namespace}
        server = Server(
            folder / "server",
            address,
            module="tests.faults.killed_scheduler",
            variables={ARMED: str(folder / "armed.json")},
            **times,
        )
        await server.start()
        try:
            (folder / "tree").mkdir()
            async with server.client() as client:
                project = await Project.create(client, "scheduled", folder / "tree", FILES)
                await project.push("ci.skip")
            temporal = await Client.connect(address, namespace=namespace, data_converter=pydantic_data_converter)
            yield Scheduled(server, trap, temporal, project.id)
        finally:
            await server.stop()


@pytest.mark.parametrize("step", list(POINTS.values()), ids=list(POINTS))
async def test_one_tick_makes_one_pipeline_wherever_the_server_dies(scheduled: Scheduled, step: Step) -> None:
    before = scheduled.deaths()
    scheduled.trap.arm(step)
    schedule_id = await scheduled.schedule()
    handle = scheduled.temporal.get_schedule_handle(f"{PREFIX}{schedule_id}")

    await eventually(lambda: described(scheduled.temporal, schedule_id), "Temporal has the schedule", WITHIN)
    await handle.trigger()

    async def told() -> str | None:
        done = (await handle.describe()).info.recent_actions
        if not done:
            return None
        action = done[0].action
        assert isinstance(action, ScheduleActionExecutionStartWorkflow)
        return action.workflow_id

    workflow = scheduled.temporal.get_workflow_handle(await eventually(told, "the tick has a workflow", WITHIN))
    result = await asyncio.wait_for(workflow.result(), WITHIN)

    async def died() -> bool:
        return scheduled.deaths() > before  # the workflow may hear of its pipeline from SQL before the process is gone

    await eventually(died, "the server has died", WITHIN)
    assert scheduled.deaths() == before + 1
    assert not scheduled.trap.armed()
    (tick,) = scheduled.ledger.rows("SELECT * FROM schedule_tick WHERE schedule_id = ?", schedule_id)
    assert (tick["outcome"], result["outcome"]) == ("by_hand", "by_hand")
    assert tick["pipeline_id"] == result["pipeline_id"]
    ours = "SELECT count(*) FROM pipeline WHERE source = 'schedule' AND id >= ?"
    assert scheduled.ledger.one(ours, tick["pipeline_id"]) == 1
    await scheduled.server.ready()


@pytest.fixture
async def pod(tmp_path: Path) -> AsyncIterator[PlayedPod]:
    async with played_pod(tmp_path, FILES, runners=0, tick_patience=3) as running:
        await running.push("ci.skip")
        yield running


def was_away(pod: PlayedPod, begin: datetime) -> None:
    """Let SQL be as if the server had gone away at `begin`: all schedules tick each minute, and no tick has its row."""
    with closing(sqlite3.connect(pod.server.home / "perdure.db")) as connection:
        text = begin.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        values = "cron = '* * * * *', revision = revision + 1, next_tick_at = ?"
        connection.execute(f"UPDATE pipeline_schedule SET {values}", (text,))
        connection.commit()


POLICIES: dict[str, dict[str, Any]] = {
    "all": {"catch_up": "all"},
    "last": {},
    "none": {"catch_up_window": 0},
    "all, one after the other": {"catch_up": "all", "overlap_policy": "skip"},
}


@pytest.mark.parametrize("empty", [False, True], ids=["temporal stays", "temporal is emptied"])
async def test_ticks_of_an_outage_are_all_accounted_for(pod: PlayedPod, empty: bool) -> None:
    made = {name: await make_schedule(pod.server, pod.project.id, **fields) for name, fields in POLICIES.items()}
    await pod.server.kill()
    first = datetime.now(UTC).replace(second=0, microsecond=0) - 5 * MINUTE
    was_away(pod, first)
    if empty:
        await pod.empty_temporal()
    await pod.server.start()
    query = "SELECT due_at, outcome, pipeline_id FROM schedule_tick WHERE schedule_id = ? ORDER BY due_at"

    async def accounted() -> dict[str, list[sqlite3.Row]]:
        found = {name: pod.ledger.rows(query, schedule_id) for name, schedule_id in made.items()}
        over = all(row["outcome"] not in {"due", "waiting"} for rows in found.values() for row in rows)
        caught_up = any(row["outcome"] == "started" for row in found["last"])
        return found if over and caught_up and min(map(len, found.values())) >= 6 else {}

    found = await eventually(accounted, "each tick has its last word", WITHIN)
    for rows in found.values():
        due = [datetime.fromisoformat(row["due_at"]).replace(tzinfo=UTC) for row in rows]
        assert due == [first + n * MINUTE for n in range(len(rows))]  # none is left out
        assert all((row["pipeline_id"] is not None) == (row["outcome"] == "started") for row in rows)
    outcomes = {name: [row["outcome"] for row in rows] for name, rows in found.items()}
    assert set(outcomes["all"]) == {"started"}
    assert outcomes["last"][:4] == ["missed"] * 4
    assert outcomes["none"][:4] == ["missed"] * 4
    assert outcomes["all, one after the other"][:4] == ["started", "skipped", "skipped", "skipped"]
    orphans = "SELECT count(*) FROM pipeline WHERE source = 'schedule' AND id NOT IN (SELECT pipeline_id FROM ticks)"
    ticks = "WITH ticks AS (SELECT pipeline_id FROM schedule_tick WHERE pipeline_id IS NOT NULL) "
    assert pod.ledger.one(ticks + orphans) == 0


async def test_an_emptied_temporal_gets_its_schedules_back(pod: PlayedPod) -> None:
    made = [await make_schedule(pod.server, pod.project.id, active=active) for active in (True, False)]
    await pod.empty_temporal()
    late = await make_schedule(pod.server, pod.project.id)  # Temporal is about to come back
    client = await Client.connect(pod.temporal.address)

    async def rebuilt() -> bool:
        found = [await described(client, schedule_id) for schedule_id in (*made, late)]
        return [each and each.schedule.state.paused for each in found] == [False, True, False]

    await eventually(rebuilt, "Temporal has all schedules", WITHIN)


async def test_a_schedule_can_be_made_while_temporal_is_away(pod: PlayedPod) -> None:
    await pod.temporal.kill()
    schedule_id = await make_schedule(pod.server, pod.project.id)
    await pod.temporal.start()
    client = await Client.connect(pod.temporal.address)

    await eventually(lambda: described(client, schedule_id), "Temporal has the schedule", WITHIN)


@pytest.mark.nightly  # takes three minutes by the clock; a push has an outage whose ticks SQL makes up
async def test_three_ticks_come_while_the_server_is_away(pod: PlayedPod) -> None:
    fields = {name: {"cron": "* * * * *", **policy} for name, policy in POLICIES.items()}
    made = {name: await make_schedule(pod.server, pod.project.id, **each) for name, each in fields.items()}
    client = await Client.connect(pod.temporal.address, data_converter=pydantic_data_converter)
    for schedule_id in made.values():
        await eventually(partial(described, client, schedule_id), "Temporal has the schedule", WITHIN)
    await pod.server.kill()

    async def started(schedule_id: int) -> bool:
        found = await described(client, schedule_id)
        return found is not None and len(found.info.recent_actions) >= 3

    for schedule_id in made.values():
        await eventually(partial(started, schedule_id), "Temporal has started three ticks", 200)
    await pod.server.start()
    query = "SELECT due_at, outcome, pipeline_id FROM schedule_tick WHERE schedule_id = ? ORDER BY due_at"

    async def accounted() -> dict[str, list[sqlite3.Row]]:
        found = {name: pod.ledger.rows(query, schedule_id) for name, schedule_id in made.items()}
        over = all(row["outcome"] not in {"due", "waiting"} for rows in found.values() for row in rows)
        return found if over and min(map(len, found.values())) >= 3 else {}

    found = await eventually(accounted, "each tick has its last word", WITHIN)
    outcomes = {}
    for name, rows in found.items():
        due = [datetime.fromisoformat(row["due_at"]) for row in rows]
        assert due == [due[0] + n * MINUTE for n in range(len(rows))]  # none is left out
        assert all((row["pipeline_id"] is not None) == (row["outcome"] == "started") for row in rows)
        outcomes[name] = [row["outcome"] for row in rows][:3]
    assert outcomes["all"] == ["started"] * 3
    assert outcomes["last"] == ["missed", "missed", "started"]
    assert outcomes["none"][:2] == ["missed", "missed"]  # the third may still be punctual
    assert outcomes["all, one after the other"] == ["started", "skipped", "skipped"]
