"""What queries of workflows may ask the database: only they, since their answers are in no history."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import structlog
from temporalio.worker import Interceptor, WorkflowInterceptorClassInput

from domain.why.explanation import Explanation
from workflows.queries import EXPLAIN

Explain = Callable[[int, Sequence[int]], Awaitable[Mapping[int, tuple[str, Explanation]]]]
"""How jobs of a pipeline stand and why, by id."""

WITHIN: Final = 1.0
"""Seconds. A workflow task that computes for two is given up by the SDK, which takes it for a deadlock."""

log = structlog.get_logger()


class QueryAnswers(Interceptor):
    """Lets the query `why` say what pages say: runners, tags and resource groups are in the database alone.

    A query runs in a thread of the worker, and waits there while the event loop of the process reads.
    """

    def __init__(self, explain: Explain) -> None:
        """Ask this; made on the event loop that it runs on."""
        self._explain, self._loop = explain, asyncio.get_running_loop()

    def workflow_interceptor_class(self, given: WorkflowInterceptorClassInput) -> None:
        """Let workflows call it by its name; nothing is intercepted."""
        given.unsafe_extern_functions[EXPLAIN] = self.explain

    def explain(self, pipeline_id: int, job_ids: Sequence[int]) -> dict[int, dict[str, str]]:
        """The words for each job that the database knows; nothing while it does not answer."""
        asked = asyncio.run_coroutine_threadsafe(self._asked(pipeline_id, job_ids), self._loop)
        try:
            found = asked.result(WITHIN)
        except Exception as error:  # noqa: BLE001  # whatever it is, the workflow says what it knows itself
            asked.cancel()
            log.warning("a query is answered without the database", pipeline_id=pipeline_id, error=repr(error)[:200])
            return {}
        return {
            job_id: {"status": status, "why": told.text, "next_step": told.next_step}
            for job_id, (status, told) in found.items()
        }

    async def _asked(self, pipeline_id: int, job_ids: Sequence[int]) -> Mapping[int, tuple[str, Explanation]]:
        return await self._explain(pipeline_id, job_ids)
