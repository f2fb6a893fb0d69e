"""Counting of git's answers: what came of them, how long they took, how much they were."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from metrics.server_metrics import ServerMetrics


class Answer:
    """An answer of git that is under way."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self.size = 0


@contextmanager
def git_answer(metrics: ServerMetrics, service: str) -> Iterator[Answer]:
    """Count one answer; a client that goes away breaks it off."""
    answer, result, begun = Answer(), "broken_off", time.perf_counter()
    try:
        yield answer
        result = "ok"
    except Exception:
        result = "failed"
        raise
    finally:
        metrics.git_answered(service, result, time.perf_counter() - begun, answer.size)


async def measured(stream: AsyncIterator[bytes], service: str, metrics: ServerMetrics) -> AsyncIterator[bytes]:
    """The same bytes, counted."""
    with git_answer(metrics, service) as answer:
        async for chunk in stream:
            answer.size += len(chunk)
            yield chunk
