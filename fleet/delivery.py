"""Brings a job's log and result to the server (docs/reference/runner-protocol.md, "Job updates", "Log upload")."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from domain.errors import Unavailable
from fleet.client import JobKey, RunnerClient
from fleet.reply import Answer, JobReply
from fleet.trace import Trace
from fleet.verdict import Verdict

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeliveryTimes:
    """Seconds, bytes and counts of the sending of logs and results."""

    first: float = 1.0
    """Pause before the first piece of log: a short job needs one piece only, a long one is seen soon."""
    interval: float = 3.0
    """Pause between pieces until the server names one."""
    heartbeat: float = 25.0
    """A quiet job says that it lives after this time; the protocol's limit is 30 s."""
    patch_bytes: int = 512 * 1024
    deliver_for: float = 24 * 3600.0
    """A result that is not taken within this time is kept for the next start of the runner."""
    flush_tries: int = 10
    """Refusals of the rest of the log (not outages) after which the result goes without it."""


class Delivery:
    """Sends what the trace holds while the job runs, then the rest and the verdict."""

    def __init__(
        self,
        client: RunnerClient,
        job: JobKey,
        trace: Trace,
        *,
        on_reply: Callable[[JobReply], None] = lambda _: None,
        times: DeliveryTimes | None = None,
        debug: bool = False,
    ) -> None:
        """`on_reply` sees every answer while the job runs; it stops the job when the server says so."""
        self._client, self._job, self._trace = client, job, trace
        self._on_reply = on_reply
        self._times = times or DeliveryTimes()
        self._backoff = client.backoff
        self._debug = debug
        self._offset = 0
        self._interval = self._times.interval
        self._contact = time.monotonic()
        self._ended = asyncio.Event()
        self._given_up = False

    async def run(self) -> None:
        """Send new log in each interval and a sign of life when there is none, until `end` or an abort."""
        next_patch = time.monotonic() + min(self._times.first, self._interval)
        while not self._given_up:
            wake = min(next_patch, self._contact + self._times.heartbeat)
            if await self._ends_within(max(0.0, wake - time.monotonic())):
                return
            if time.monotonic() >= next_patch:
                await self._send_new()
                next_patch = time.monotonic() + self._interval
            if not self._given_up and time.monotonic() - self._contact >= self._times.heartbeat:
                await self._heartbeat()

    def end(self) -> None:
        """Let `run` return after the call it is in: the job has ended."""
        self._ended.set()

    async def finish(self, verdict: Verdict) -> bool:
        """Send the rest of the log and the verdict until the server has both.

        True means that the job is done with: taken, or not wanted any more. False means that the server was away or
        said no for `deliver_for`; the caller keeps the verdict.
        """
        if self._given_up:
            return True
        deadline = time.monotonic() + self._times.deliver_for
        self._interval, refused = self._times.interval, 0
        while (left := deadline - time.monotonic()) > 0:
            try:
                await self._flush(left)
                reply = await self._client.update_job(
                    self._job,
                    verdict.state,
                    failure_reason=verdict.failure_reason,
                    exit_code=verdict.exit_code,
                    output=self._trace.output,
                    give_up_after=left,
                )
            except Unavailable as error:
                LOG.error("job %d: result not delivered, it is kept for the next start: %s", self._job.id, error)  # noqa: TRY400
                return False
            self._interval = reply.interval or self._interval
            if reply.answer in (Answer.ACCEPTED, Answer.ABORT):
                return True
            if reply.answer is Answer.MISMATCH:
                self._offset = 0
            if reply.answer is Answer.FAILED:
                LOG.warning("job %d: the server answered %d to the result", self._job.id, reply.status)
                await self._client.sleep(self._backoff.pause(refused))
                refused += 1
            else:
                await self._client.sleep(self._interval)
        LOG.error("job %d: the server does not take the result; it is kept for the next start", self._job.id)
        return False

    async def _ends_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _send_new(self) -> None:
        end = self._trace.size
        while self._offset < end and not self._ended.is_set():
            reply = await self._patch()
            self._live(reply)
            if reply.answer not in (Answer.ACCEPTED, Answer.WRONG_OFFSET):
                return

    async def _heartbeat(self) -> None:
        self._live(await self._client.update_job(self._job, "running", output=self._trace.output))

    def _live(self, reply: JobReply) -> None:
        self._contact = time.monotonic()
        self._interval = reply.interval or self._interval
        self._given_up = reply.answer is Answer.ABORT
        self._on_reply(reply)

    async def _flush(self, give_up_after: float) -> None:
        """Send all that is left; refusals that do not move the offset are counted, since they might never end."""
        refused = 0
        while self._offset < self._trace.size and refused < self._times.flush_tries:
            before = self._offset
            reply = await self._patch(give_up_after)
            if reply.answer in (Answer.ABORT, Answer.NOT_FOUND):
                return
            if self._offset <= before:
                await self._client.sleep(self._backoff.pause(refused))
                refused += 1

    async def _patch(self, give_up_after: float | None = None) -> JobReply:
        data = self._trace.read(self._offset, self._times.patch_bytes)
        reply = await self._client.patch_trace(
            self._job, self._offset, data, debug=self._debug, give_up_after=give_up_after
        )
        if reply.answer is Answer.ACCEPTED:
            self._offset += len(data)
        elif reply.answer is Answer.WRONG_OFFSET:
            # A server that claims more than was ever written holds something else: start over.
            self._offset = reply.offset if reply.offset <= self._trace.size else 0
        return reply
