"""Counting of git's responses: what came of them, how long they took, how much they were."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from metrics.server_metrics import ServerMetrics


class GitResponse:
    """A response of git that is under way."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self.size = 0


@contextmanager
def git_response(metrics: ServerMetrics, service: str) -> Iterator[GitResponse]:
    """Count one response; a client that goes away breaks it off."""
    response, result, begun = GitResponse(), "broken_off", time.perf_counter()
    try:
        yield response
        result = "ok"
    except Exception:
        result = "failed"
        raise
    finally:
        metrics.git_responded(service, result, time.perf_counter() - begun, response.size)


async def measured(stream: AsyncIterator[bytes], service: str, metrics: ServerMetrics) -> AsyncIterator[bytes]:
    """The same bytes, counted."""
    with git_response(metrics, service) as response:
        async for chunk in stream:
            response.size += len(chunk)
            yield chunk
