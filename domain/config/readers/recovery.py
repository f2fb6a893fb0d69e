"""`retry` and `allow_failure`: what a failure of the job means. Source: docs/reference/ci-yaml.md, "Job keywords"."""

from dataclasses import dataclass, replace
from typing import Final

from domain.config.keywords import ALLOW_FAILURE, RETRY, RETRY_WHEN
from domain.config.plan import RetryPolicy
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Map

MAX_RETRIES: Final = 2


@dataclass(frozen=True, slots=True)
class AllowFailure:
    """Whether a job may fail always, or with some exit codes only."""

    always: bool
    exit_codes: tuple[int, ...] = ()


def read_retry(field: Field) -> RetryPolicy | None:
    """How often, or a mapping that also says after what."""
    if isinstance(field.value, int) and not isinstance(field.value, bool):
        attempts = checks.whole_number(field, 0, MAX_RETRIES)
        return None if attempts is None else RetryPolicy(attempts)
    if not isinstance(field.value, Map):
        field.fault("has to be either an integer or a hash")
        return None
    field.has_keys_of(RETRY)
    most = checks.whole_number(_number(field.attribute("max")), 0, MAX_RETRIES) if field.given("max") else 0
    codes = checks.exit_codes(field.attribute("exit_codes")) if field.given("exit_codes") else ()
    return RetryPolicy(
        max=most or 0,
        when=(checks.known_strings(field.attribute("when"), RETRY_WHEN) if field.given("when") else None) or (),
        exit_codes=codes or (),
    )


def _number(field: Field) -> Field:
    """The same field; a text of digits counts as a number."""
    is_digits = isinstance(field.value, str) and field.value.isascii() and field.value.isdigit()
    return replace(field, value=int(str(field.value)[:20])) if is_digits else field


def read_allow_failure(field: Field) -> AllowFailure | None:
    """True, false, or the exit codes with which the job may fail."""
    if isinstance(field.value, bool):
        return AllowFailure(field.value)
    if not isinstance(field.value, Map):
        field.fault("should be a hash or a boolean value")
        return None
    field.has_keys_of(ALLOW_FAILURE)
    codes = checks.exit_codes(field.attribute("exit_codes")) if field.given("exit_codes") else ()
    return AllowFailure(always=False, exit_codes=codes or ())
