"""A job whose runner cannot do what it asks for fails and says so.

It fails instead of waiting for another runner, as in GitLab: nobody would see why it waits.

Source: docs/reference/runner-protocol.md, "Runner info", "Picking a job".
"""

from datetime import datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status
from domain.runners.features import unmet_requirements
from models.repositories.logs import traces
from models.repositories.pipelines import verdicts
from models.repositories.queue.hand_outs import HandOut

REASON: Final = "runner_unsupported"


async def fail_unsupported(
    connection: AsyncConnection, rows: HandOut, features: frozenset[str] | None, now: datetime
) -> bool:
    """End a claimed job that needs more than its runner has; true if it did. Its log names what is missing."""
    plan = {**rows.job.plan, "steps_resume": rows.steps_resume}
    unmet = unmet_requirements(plan, rows.pipeline.ref, features)
    if unmet:
        words = f"This job cannot run: the runner that took it lacks {', '.join(unmet)}; update it, or choose by tags."
        await traces.add_words(connection, rows.job.id, words)
        await verdicts.end_jobs(connection, [rows.job.id], Status.FAILED, now, reason=REASON)
    return bool(unmet)
