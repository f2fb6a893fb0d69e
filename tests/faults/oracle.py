"""What must be true after every fault: whatever was acknowledged is there, once.

Source: docs/reference/reliability.md, "Faults".
"""

import hashlib
import zlib
from collections import Counter

from domain.object_keys import trace_key
from domain.pipelines.status import COMPLETE
from tests.faults.killed_pod import KilledPod
from tests.faults.stock_runner import Acknowledged, hand_out


async def check(pod: KilledPod, said: Acknowledged) -> None:
    """Compare the history of acknowledgements with what is there, when everything is over."""
    assert said.odd == []
    await _pipelines(pod, said)
    await _hand_outs(pod, said)
    await _verdicts(pod, said)
    await _logs(pod, said)
    await _files(pod, said)
    await _runners(pod, said)


async def _pipelines(pod: KilledPod, said: Acknowledged) -> None:
    found = {row.id: row.status for row in await pod.rows("SELECT id, status FROM pipeline")}
    assert {found.get(number) for number in said.pipelines} <= COMPLETE


async def _hand_outs(pod: KilledPod, said: Acknowledged) -> None:
    """No hand-out was given to two, and only the last of a job may still say anything."""
    given = Counter((job["id"], hand_out(job)) for job in said.given)
    assert set(given.values()) <= {1}
    for job in said.given:
        (row,) = await pod.rows("SELECT hand_out FROM job WHERE id = :id", id=job["id"])
        assert hand_out(job) <= row.hand_out
        if hand_out(job) < row.hand_out:
            assert (await pod.runner(said).say(job, "success")).status_code == 403


async def _verdicts(pod: KilledPod, said: Acknowledged) -> None:
    """Each attempt has ended once, as its runner said, and is folded."""
    rows = {row.id: row for row in await pod.rows("SELECT * FROM job")}
    for job_id, state in said.verdicts.items():
        assert (rows[job_id].status, bool(rows[job_id].folded)) == (state, True)
    for job in said.given:
        assert rows[job["id"]].status in COMPLETE
    attempts = Counter((row.first_id, row.attempt) for row in rows.values())
    assert set(attempts.values()) <= {1}


async def _logs(pod: KilledPod, said: Acknowledged) -> None:
    """Every byte is there, in the store and as users read it."""
    for job_id, log in said.logs.items():
        (row,) = await pod.rows("SELECT * FROM trace WHERE job_id = :id", id=job_id)
        (job,) = await pod.rows("SELECT project_id, log_incomplete FROM job WHERE id = :id", id=job_id)
        assert (row.size, row.crc, job.log_incomplete) == (len(log), zlib.crc32(log), False)
        key = trace_key(job.project_id, job_id, row.generation)
        assert b"".join([part async for part in pod.store.read(key)]) == log
        assert (await pod.project.log(job_id)).encode() == log
        assert await pod.rows("SELECT 1 FROM trace_chunk WHERE job_id = :id", id=job_id) == []


async def _files(pod: KilledPod, said: Acknowledged) -> None:
    for (job_id, kind), content in said.files.items():
        (row,) = await pod.rows("SELECT * FROM artifact WHERE job_id = :id AND file_type = :kind", id=job_id, kind=kind)
        assert (row.size, row.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        assert b"".join([part async for part in pod.store.read(row.object_key)]) == content


async def _runners(pod: KilledPod, said: Acknowledged) -> None:
    for token in said.runners:
        response = await pod.runner(said).call("POST", "/runners/verify", json={"token": token})
        assert response.status_code == 200, response.text
