"""What the includes of one compilation may cost, and what they have cost so far."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class IncludeLimits:
    """GitLab's figures (docs/reference/ci-yaml.md, "Limits"), and one of our own."""

    files: int = 150
    total: int = 300 * 1024 * 1024
    """Bytes of all files."""
    seconds: float = 30.0
    """For all remote files together: somebody waits for the answer."""
    at_once: int = 8
    """Remote files fetched at the same time, so that nobody's server is stormed."""


DEFAULT_LIMITS: Final = IncludeLimits()


@dataclass(slots=True)
class Spending:
    """Over all rounds of one compilation: files that were asked for, bytes that came, seconds of fetching."""

    limits: IncludeLimits
    files: int = 0
    size: int = 0
    seconds: float = 0.0

    @property
    def room(self) -> int:
        """Bytes that may still come."""
        return max(0, self.limits.total - self.size)
