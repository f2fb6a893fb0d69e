"""What a start does about the jobs of a runner that was killed: end what is left of them, bring their results home."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from domain.errors import StorageFull
from domain.masked_stream import Masker
from fleet.client import JobKey, RunnerClient
from fleet.delivery import Delivery, DeliveryTimes
from fleet.executors.hands import Hands
from fleet.executors.rights import JobRights
from fleet.state import JobRecord, JobStore, finished
from fleet.trace import Trace
from fleet.verdict import failed

LOG = logging.getLogger(__name__)


async def end_left(records: list[JobRecord], grace: float, rights: JobRights | None) -> None:
    """End every process of the recorded jobs, which had `rights`; returns when none is left."""
    hands = Hands(rights)
    try:
        for record in records:
            ended = await hands.end_processes(record.mark, record.group, record.group_start, grace=grace)
            if ended:
                LOG.warning("job %d: ended %d processes of a killed runner", record.job_id, ended)
    finally:
        hands.close()


async def deliver_record(record: JobRecord, client: RunnerClient, store: JobStore, times: DeliveryTimes) -> None:
    """Send what the server lacks of a job's log, then its verdict, and forget the job when both are taken.

    A job whose script was cut off failed with `runner_system_failure`: it is never run again from here. The end of its
    log says so.
    """
    trace = Trace(Path(record.log), Masker(()))
    try:
        if record.verdict is None:
            record = finished(record, failed("runner_system_failure"))
            with suppress(StorageFull, OSError):  # without room the server hears of it all the same
                trace.error("Job failed (system failure): the runner was killed while the job ran")
                await asyncio.to_thread(store.save, record)
        verdict = record.verdict or failed("runner_system_failure")
        delivery = Delivery(client, JobKey(record.job_id, record.token), trace, times=times)
        if await delivery.finish(verdict):
            store.remove(record)
            trace.remove()
            LOG.info("job %d: result of an earlier run delivered (%s)", record.job_id, verdict.state)
    finally:
        trace.close()
