"""What a job asks for and this runner does not do: containers and caches.

GitLab Runner's shell executor passes images and services by without a word. Here the log says so, or the job is
refused: a server cannot refuse it, since a runner that announces no `image` is one that runs such jobs on its machine.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fleet.config import REFUSE
from fleet.job import Job
from fleet.machine import machine_words
from fleet.trace import Trace
from fleet.variables import expand
from fleet.verdict import failed

REMEDY: Final = "choose a runner that can by `tags`"
REFUSED: Final = failed("runner_unsupported")
_NO_CONTAINERS: Final = "this runner has no containers"


@dataclass(frozen=True, slots=True)
class Lack:
    """A keyword, why this runner does not do it, and what that means for a job that runs nevertheless."""

    keyword: str
    why: str
    without: str


def lacks(job: Job, variables: Mapping[str, str], machine: str) -> tuple[Lack, ...]:
    """What the job asks for in vain, in the order of the keywords. `machine` is what it finds instead of an image."""
    found = []
    if job.image:
        without = f"{expand(job.image, variables)} is not used, scripts run on this machine ({machine})"
        found.append(Lack("image", _NO_CONTAINERS, without))
    if job.services:
        names = ", ".join(expand(name, variables) for name in job.services)
        found.append(Lack("services", _NO_CONTAINERS, f"not started: {names}"))
    if job.has_cache:
        found.append(Lack("cache", "this runner keeps no caches", "nothing is restored or saved"))
    return tuple(found)


async def accepts(job: Job, variables: Mapping[str, str], trace: Trace, way: str) -> bool:
    """Whether the job is run; its log gets a line for each keyword that it asks for in vain."""
    machine = await asyncio.to_thread(machine_words) if job.image else ""
    found = lacks(job, variables, machine)
    for lack in found:
        if way == REFUSE:
            trace.error(f"{lack.keyword}: {lack.why} and refuses this job (`unsupported_keywords`); {REMEDY}")
        else:
            trace.warning(f"{lack.keyword}: {lack.why}; {lack.without}")
    return not (found and way == REFUSE)
