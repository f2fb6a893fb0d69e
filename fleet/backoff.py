"""How long to wait before something is tried again."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double from `first` to `ceiling` with jitter; all values are seconds.

    `retry_after_limit` caps what a server may ask for with `Retry-After`: one wrong header must not put a runner to
    sleep for an hour.
    """

    first: float = 0.1
    ceiling: float = 15.0
    retry_after_limit: float = 60.0

    def pause(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after failed attempt number `attempt` (from 0).

        A server's wish wins over our own curve. It is stretched a little so that runners that were all sent away at
        once do not all come back at once.
        """
        if retry_after is not None:
            return min(self.retry_after_limit, retry_after * random.uniform(1.0, 1.25))
        longest = min(self.ceiling, self.first * 2.0 ** min(attempt, 30))
        return longest * random.uniform(0.5, 1.0)


def retry_after_seconds(header: str | None) -> float | None:
    """The value of a `Retry-After` header in seconds, None when absent or not an integer.

    Dates are ignored like in the stock runner (docs/reference/runner-protocol.md, "Every call").
    """
    text = (header or "").strip()
    return float(text) if text.isascii() and text.isdigit() else None
