"""One table of exit statuses."""

import pytest

from cli.exit_codes import TimedOut, exit_code
from domain.config.issue import ConfigIssue
from domain.errors import (
    ConfigInvalid,
    Forbidden,
    JobNotRunning,
    NotFound,
    PerdureError,
    Refused,
    Unauthenticated,
    Unavailable,
)

CASES = [
    (Refused("x"), 1),
    (ConfigInvalid((ConfigIssue("x"),)), 2),
    (NotFound("x"), 3),
    (Unauthenticated("x"), 4),
    (Forbidden("x"), 4),
    (JobNotRunning("x", "success"), 4),
    (Unavailable("x"), 5),
    (TimedOut("x"), 124),
]


@pytest.mark.parametrize(("error", "code"), CASES)
def test_exit_code(error: PerdureError, code: int) -> None:
    assert exit_code(error) == code
