"""The one clock: everything that needs the time is given one."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Gives the present moment, aware and in UTC."""


def system_clock() -> datetime:
    """The clock of the machine, for composition roots."""
    return datetime.now(UTC)
