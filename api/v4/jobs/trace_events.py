"""The log of a job as it grows: server-sent events.

| event | data | |
|---|---|---|
| `log` | `{"offset": 0, "text": "..."}` | what begins at byte `offset` |
| `reset` | `{"generation": 1}` | the runner sends the log anew: forget what came before |
| `end` | `{"size": 812, "incomplete": false}` | nothing can follow |

The id of an event is `<generation>-<next byte>`, so `Last-Event-ID` goes on where a connection broke, at any process.
A reader holds neither a connection of the database nor more than a part of the log, however slowly it reads.
"""

import asyncio
import codecs
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from api.deps import ServicesDep
from api.event_streams import COME_BACK, STILL_HERE, followed
from api.routes import RouteList
from api.services import Services
from api.v4.access import JobAccess, JobDep
from api.v4.jobs.log import Log, log_of, read_log
from application.access import access_to
from domain.errors import PerdureError
from models.notifications import trace_topic
from models.repositories.pipelines import jobs

RECHECK: Final = 5.0
"""Seconds after which we look again even if nothing woke us; each look tells the runner that somebody reads."""
ADMITTED: Final = 10.0
"""Seconds for which a reader who might see the project is not asked again."""
_PAUSE: Final = 0.3
"""Seconds after a change; what comes meanwhile is sent together."""
_QUIET_ROUNDS: Final = 3
"""After so many looks without a change a comment shows proxies that the connection lives."""
_PLACE: Final = re.compile(r"(\d{1,9})-(\d{1,15})")

router = RouteList(prefix="/projects/{project}/jobs/{job_id}")


@dataclass(slots=True)
class Place:
    """What a reader has: all bytes before `offset` of a generation, the present one when it is None."""

    generation: int | None = None
    offset: int = 0

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Read the id of an event; what is none is the beginning."""
        found = _PLACE.fullmatch(text)
        return cls() if found is None else cls(int(found[1]), int(found[2]))


@router.get("/trace/live")
async def follow_trace(request: Request, found: JobDep, services: ServicesDep) -> StreamingResponse:
    """The log from its beginning, or from `Last-Event-ID`, until it ends."""
    place = Place.parse(request.headers.get("last-event-id", ""))
    return followed(request, services, found.project.caller, trace_events(services, found, place))


async def trace_events(services: Services, found: JobAccess, place: Place) -> AsyncIterator[bytes]:
    """Events until the log ends, the process drains, or the reader may not see the project any more."""
    topic, quiet, now, looked = trace_topic(found.row.id), 0, asyncio.get_running_loop().time, 0.0
    yield COME_BACK
    while not services.drain.begun:
        waiter = services.notifications.subscribe(topic)
        try:
            if now() - looked >= ADMITTED:
                await access_to(services, found.project.caller, found.project.row.id)
                looked = now()
            log = await log_of(services, found.row)
            quiet += 1
            async for part in _news(services, log, place):
                yield part
                quiet = 0
            if log.frozen and place.offset == log.size:
                yield await _end(services, found, place)
                return
            if quiet and quiet % _QUIET_ROUNDS == 0:
                yield STILL_HERE
            await asyncio.wait([waiter], timeout=RECHECK)
        except PerdureError:
            return
        finally:
            if not waiter.done():
                services.notifications.leave(topic, waiter)
        await asyncio.sleep(_PAUSE)


async def _news(services: Services, log: Log, place: Place) -> AsyncIterator[bytes]:
    """What a reader at `place` does not have yet; moves the place on."""
    if place.generation is None:
        place.generation = log.generation
    if place.generation != log.generation or place.offset > log.size:
        place.generation, place.offset = log.generation, 0
        yield _event("reset", place, {"generation": log.generation})
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    start = place.offset
    async for part in read_log(services, log, start):
        start += len(part)
        is_last = log.frozen and start == log.size
        text = decoder.decode(part, is_last)
        begin, place.offset = place.offset, start - len(decoder.getstate()[0])
        if text:
            yield _event("log", place, {"offset": begin, "text": text})


async def _end(services: Services, found: JobAccess, place: Place) -> bytes:
    async with services.database.read() as connection:
        row = await jobs.get(connection, found.row.id, found.project.row.id)
    return _event("end", place, {"size": place.offset, "incomplete": row.log_incomplete})


def _event(kind: str, place: Place, data: dict[str, Any]) -> bytes:
    position = f"{place.generation}-{place.offset}"
    return format_sse_event(event=kind, id=position, data_str=orjson.dumps(data).decode())
