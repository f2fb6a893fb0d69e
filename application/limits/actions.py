"""How often somebody may do something in a minute, beside the calls that they make. Each process counts for itself.

Kinds, numbers and whose count it is are GitLab's (`Gitlab::ApplicationRateLimiter`).
"""

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final

from application.limits.windows import Windows
from domain.errors import TooMany
from models.clock import Clock
from settings import RateLimits


class Limited(StrEnum):
    """What is limited; the value is GitLab's name, which `RateLimit-Name` tells."""

    HOOK_TEST = "web_hook_test"
    HOOK_RESEND = "web_hook_event_resend"
    SCHEDULE_PLAY = "play_pipeline_schedule"
    PIPELINE = "pipelines_create"
    LINT = "ci_lint"
    NOTE = "notes_create"


_SETTING: Final[Mapping[Limited, str]] = {
    Limited.HOOK_TEST: "hook_tests",
    Limited.HOOK_RESEND: "hook_resends",
    Limited.SCHEDULE_PLAY: "schedule_plays",
    Limited.PIPELINE: "pipelines_created",
    Limited.LINT: "configurations_checked",
    Limited.NOTE: "notes_written",
}
"""Fields of `settings.RateLimits`."""


class ActionLimits:
    """Counts what is done."""

    def __init__(self, limits: RateLimits, clock: Clock, seconds: Callable[[], float] = time.monotonic) -> None:
        """Take how often; `clock` tells the time of day, `seconds` are monotonic."""
        self._limits = limits
        self._clock = clock
        self._windows = Windows(seconds)

    def note(self, what: Limited, *whose: object) -> None:
        """Count something that somebody is about to do. Raises `TooMany`."""
        limit: int = getattr(self._limits, _SETTING[what])
        if not limit:
            return
        observed, reset_in = self._windows.note("\0".join([what, *map(str, whose)]).encode())
        if observed > limit:
            raise TooMany(what, limit, observed, reset_in, self._clock() + timedelta(seconds=reset_in))
