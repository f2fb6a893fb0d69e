"""What every process tells of itself: its version, its processor time and memory, and the lag of its event loop."""

import asyncio
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

from metrics import names
from metrics.definition import Definition
from metrics.sampled import ReadNow, Sampled

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at the lag."""


class ProcessMetrics:
    """A registry, and what needs nothing but the process."""

    def __init__(self, role: str, pod: str = "") -> None:
        """`role` is what the process does: `all`, `api`, `worker`, `front` or `directory`; `pod`: whose it is alone."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        names.BUILD.gauge(self.registry).labels(installed_version(), role, pod).set(1)
        self._lag = names.LOOP_LAG.histogram(self.registry)

    def sampled(self, definitions: Iterable[Definition], read: ReadNow) -> None:
        """Tell these from now on as `read` has them at the moment at which somebody asks."""
        self.registry.register(Sampled(definitions, read))

    async def watch_event_loop(self) -> None:
        """Note for ever how late the event loop calls what is due."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LOOK_EVERY
            await asyncio.sleep(LOOK_EVERY)
            self._lag.observe(max(0.0, loop.time() - due))


def installed_version() -> str:
    """That of the distribution; the image holds only the tree."""
    try:
        return version("perdure")
    except PackageNotFoundError:
        return "unknown"
