"""`retry` and `allow_failure`: what each form gives, and what is said about wrong ones."""

from typing import Any

import pytest

from domain.config.keywords import RETRY_WHEN
from domain.config.plan import RetryPolicy
from domain.config.readers.recovery import AllowFailure, read_allow_failure, read_retry
from tests.domain.config.reading.fields import given, refused

READERS = {"retry": read_retry, "allow_failure": read_allow_failure}


@pytest.mark.parametrize(
    ("keyword", "text", "found"),
    [
        ("retry", "0", RetryPolicy()),
        ("retry", "2", RetryPolicy(2)),
        ("retry", "{}", RetryPolicy()),
        ("retry", "{max: 1}", RetryPolicy(1)),
        ("retry", "{max: 2, when: script_failure}", RetryPolicy(2, ("script_failure",))),
        ("retry", "{max: 1, when: [always, api_failure]}", RetryPolicy(1, ("always", "api_failure"))),
        ("retry", "{max: 1, exit_codes: 137}", RetryPolicy(1, exit_codes=(137,))),
        ("retry", "{max: 1, exit_codes: [1, 4294967295]}", RetryPolicy(1, exit_codes=(1, 4294967295))),
        ("retry", "{max: null, when: null, exit_codes: null}", RetryPolicy()),
        ("allow_failure", "true", AllowFailure(always=True)),
        ("allow_failure", "false", AllowFailure(always=False)),
        ("allow_failure", "{exit_codes: 3}", AllowFailure(always=False, exit_codes=(3,))),
        ("allow_failure", "{exit_codes: [3, 4]}", AllowFailure(always=False, exit_codes=(3, 4))),
    ],
)
def test_given(keyword: str, text: str, found: Any) -> None:
    assert given(READERS[keyword], keyword, text) == found


def test_every_reason_can_be_retried() -> None:
    reasons = sorted(RETRY_WHEN)
    assert given(read_retry, "retry", f"{{when: [{', '.join(reasons)}]}}").when == tuple(reasons)


CODES = "should be an array of integers or an integer"


@pytest.mark.parametrize(
    ("keyword", "text", "line", "path", "message"),
    [
        ("retry", "3", 1, "retry", "retry config must be less than or equal to 2"),
        ("retry", "-1", 1, "retry", "retry config must be greater than or equal to 0"),
        ("retry", "a", 1, "retry", "retry config has to be either an integer or a hash"),
        ("retry", "true", 1, "retry", "retry config has to be either an integer or a hash"),
        ("retry", "{\n count: 1}", 2, "retry", "retry config contains unknown keys: count"),
        ("retry", "{\n max: 3}", 2, "retry:max", "retry max must be less than or equal to 2"),
        ("retry", "{max: 1.5}", 1, "retry:max", "retry max must be an integer"),
        ("retry", "{max: a}", 1, "retry:max", "retry max is not a number"),
        (
            "retry",
            "{when: script_failed}",
            1,
            "retry:when",
            "retry when unknown value: script_failed; did you mean `script_failure`?",
        ),
        ("retry", "{when: [bad_luck]}", 1, "retry:when", "retry when contains unknown values: bad_luck"),
        ("retry", "{when: 1}", 1, "retry:when", "retry when should be an array of strings or a string"),
        ("retry", "{exit_codes: a}", 1, "retry:exit_codes", f"retry exit codes {CODES}"),
        ("retry", "{exit_codes: [1, true]}", 1, "retry:exit_codes", f"retry exit codes {CODES}"),
        (
            "retry",
            "{exit_codes: 4294967296}",
            1,
            "retry:exit_codes",
            f"retry exit codes {CODES}; exit codes have at most 32 bits",
        ),
        ("allow_failure", "sure", 1, "allow_failure", "allow_failure config should be a hash or a boolean value"),
        ("allow_failure", "1", 1, "allow_failure", "allow_failure config should be a hash or a boolean value"),
        (
            "allow_failure",
            "{\n exit_code: 1}",
            2,
            "allow_failure",
            "allow_failure config contains unknown keys: exit_code; did you mean `exit_codes`?",
        ),
        ("allow_failure", "{exit_codes: 1.5}", 1, "allow_failure:exit_codes", f"allow_failure exit codes {CODES}"),
    ],
)
def test_refused(keyword: str, text: str, line: int, path: str, message: str) -> None:
    assert refused(READERS[keyword], keyword, text) == [(line, path, message)]
