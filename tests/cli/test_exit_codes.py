"""One table of exit statuses."""

from typing import Any

import pytest

from cli.exit_codes import TimedOut, exit_code
from domain.config.issue import ConfigIssue
from domain.errors import ConfigInvalid, Forbidden, JobNotRunning, NotFound, Refused, Unauthenticated, Unavailable

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
def test_exit_code(error: Any, code: Any) -> None:
    assert exit_code(error) == code
