"""What runs by itself: every loop, in this process; those that talk to Temporal find nobody there and look again."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from api.services import Services
from loops.delivery_starter import Telling
from loops.reconciler import Reconciler
from loops.relay import Relay
from loops.schedules import ScheduleKeeper
from settings import Retention, TimeLimits
from tests.permissions.place import Place
from tests.plans.recording import Recording
from tests.waiting import eventually
from worker import Process

_KEPT: Final[Mapping[str, Any]] = {name: 2 * 365 * 86400.0 for name in Retention.model_fields if name.endswith("_kept")}
OFTEN: Final[Mapping[str, Any]] = {
    "times": TimeLimits(
        hook_timeout=0.02, lease_tick=0.5, reconcile_every=1, environments_every=1, artifacts_every=1, long_poll=2
    ),
    "retention": Retention(retention_every=1, **_KEPT),
}
"""Settings with which every loop has looked within seconds, and nothing of a year is too old."""
WITHOUT: Final = {
    "cross_pod": "only where there are several pods",
    "directory": "only where there are several pods",
    "moved_away": "only where there are several pods",
    "spreading": "only where there are several pods",
    "held_loop": "it asks no database",
    "coverage": "it reads logs for the archiver",
    "outbox_rows": "they are the relay's",
    "pipeline_requests": "it is part of other loops",
    "pull_requests": "its rows are taken as pipeline_requests does",
    "subscriptions": "its rows are taken as pipeline_requests does",
    "unit_tests": "it is part of the loop of reports",
    "rounds": "it is what loops are made of",
    "due_rows": "it is what loops are made of",
}


async def work(place: Place, recording: Recording) -> None:
    """Let every loop look."""
    process = Process(place.site.services)
    not_here = {"_serve", "_join_temporal", "watch_event_loop", "_tell_metrics"}
    loops = [loop for loop in process._loops() if getattr(loop, "__name__", "") not in not_here]
    tasks = [asyncio.ensure_future(loop()) for loop in (*loops, *_of_temporal(place.site.services))]
    try:
        await eventually(lambda: _all_looked(recording), "every loop has looked")
        await process._retention()._remove()  # of its round the others would see no more than the beginning
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await process._front.aclose()


def _of_temporal(services: Services) -> list[Callable[[], Awaitable[None]]]:
    """Loops that run once Temporal is there."""
    database, notifications, clock = services.database, services.notifications, services.clock
    settings, metrics, nobody = services.settings, services.metrics, cast("Any", services.temporal.connected)
    return [
        Relay(database, nobody, notifications, clock, settings, metrics).run,
        Reconciler(database, nobody, notifications, clock, settings.times, metrics).run,
        Telling(database, nobody, notifications, clock, settings.times).run,
        ScheduleKeeper(database, nobody, notifications, clock, settings.times).run,
    ]


async def _all_looked(recording: Recording) -> bool:
    return not missing(recording)


def missing(recording: Recording) -> set[str]:
    """Loops that have asked nothing yet."""
    folder = Path(__file__).resolve().parents[2] / "loops"
    every = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return every - WITHOUT.keys() - {"__init__"} - {name.split(".")[0] for name in recording.loops}
