"""While anybody waits for a slot, a timer of the group's workflow makes it read SQL again."""

from datetime import timedelta

from temporalio.api.enums.v1 import EventType

from tests.waiting import eventually
from tests.workflows.test_resource_group_alone import HELD, WITHIN, Sql, stage


async def test_a_group_looks_again_after_a_minute_although_nobody_asks(temporal: str) -> None:
    """The message that the slot is free may be lost: this timer is all that is left then."""
    async with stage(temporal, Sql(HELD)) as scene:
        await scene.look()

        async def has_looked() -> bool:
            return await scene.tasks() > 0

        await eventually(has_looked, "the group has looked once", WITHIN)
        kind = EventType.EVENT_TYPE_TIMER_STARTED
        events = [event async for event in scene.group.fetch_history_events() if event.event_type == kind]
        timers = [event.timer_started_event_attributes.start_to_fire_timeout.ToTimedelta() for event in events]
    assert timers == [timedelta(minutes=1)]
