"""What a runner leaves out of the jobs that it takes, by what it says of itself.

GitLab Runner's shell executor passes images and services by without a word, and so do runners of other make; nothing of
the job's page would show that it ran somewhere else than was written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

ON_ITS_MACHINE: Final = frozenset({"shell", "ssh"})
"""Executors that run scripts without a container; those of their runners that name no features have none."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a job's plan says of containers and caches (`domain.config.plan.JobPlan` as JSON)."""

    image: Mapping[str, Any] | None = None
    services: Sequence[Mapping[str, Any]] | None = None
    cache: Sequence[Mapping[str, Any]] | None = None


def left_out(asked: Asked, runner: str, info: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each keyword that a runner of this name does not do; `info` is what is kept of what it says.

    A runner that does not say how it runs jobs is believed to do everything, as is one of an unknown executor that
    names no features.
    """
    executor, features = info.get("executor"), info.get("features") or {}
    if not executor:
        return ()
    contained = executor not in ON_ITS_MACHINE
    found = []
    if asked.image and not features.get("image", contained):
        found.append(f"{runner} has no containers: `image` {asked.image['name']} is not used.")
    if asked.services and not features.get("services", contained):
        names = ", ".join(service["image"]["name"] for service in asked.services)
        found.append(f"{runner} has no containers: `services` {names} are not started.")
    if asked.cache and not features.get("cache", True):
        found.append(f"{runner} keeps no caches: `cache` is neither restored nor saved.")
    return tuple(found)
