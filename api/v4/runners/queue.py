"""What waits for runners, by tag set: our own addition to GitLab's paths."""

from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import KnownCallerDep
from application.runners.queue import queue_for
from domain.runners.tag_set_queues import RunnerTally, TagSetQueue
from domain.runners.waits import Waits

router = RouteList(prefix="/runners")


class RunnerTallyResponse(TypedDict):
    """Runners that may take jobs of the tag set; `busy` ones are among those that are online, and hold `jobs`."""

    online: int
    busy: int
    paused: int
    offline: int
    jobs: int


class WaitsResponse(TypedDict):
    """How long jobs had waited that runners took in the last hour, in seconds; null without any."""

    jobs: int
    p50: float | None
    p95: float | None


class TagSetQueueResponse(TypedDict):
    """The queue of one tag set; `oldest` is seconds, `own_jobs` are of projects of the caller.

    Of `stuck` ones no runner takes any; `stuck_reason` is that of the oldest of the caller's own.
    """

    tag_list: list[str]
    jobs: int
    own_jobs: int
    oldest: float
    stuck: int
    stuck_reason: str | None
    runners: RunnerTallyResponse
    waits: WaitsResponse


@router.get("/queue")
async def list_queue(caller: KnownCallerDep, services: ServicesDep) -> list[TagSetQueueResponse]:
    """What waits for runners by tag set, what has waited longest first, with what was taken in the last hour.

    Administrators see all of it. Others see the tag sets of projects in which they are developers or more, and counted
    there all jobs that those wait behind, without whose they are.
    """
    return [_shown(one) for one in await queue_for(services, caller)]


def _shown(one: TagSetQueue) -> TagSetQueueResponse:
    return {
        "tag_list": list(one.tags),
        "jobs": one.jobs,
        "own_jobs": one.own,
        "oldest": round(one.waited, 3),
        "stuck": one.stuck,
        "stuck_reason": one.why or None,
        "runners": _tally(one.runners),
        "waits": _waits(one.waits),
    }


def _tally(tally: RunnerTally) -> RunnerTallyResponse:
    return {
        "online": tally.online,
        "busy": tally.busy,
        "paused": tally.paused,
        "offline": tally.offline,
        "jobs": tally.jobs,
    }


def _waits(waits: Waits | None) -> WaitsResponse:
    if waits is None:
        return {"jobs": 0, "p50": None, "p95": None}
    return {"jobs": waits.jobs, "p50": round(waits.p50, 3), "p95": round(waits.p95, 3)}
