"""A pipeline without jobs says why, and what to do."""

import pytest

from domain.why.explanation import Reason
from domain.why.jobless import jobless


@pytest.mark.parametrize(
    ("status", "errors", "reason", "faults"),
    [
        ("failed", "a: wrong\nb: wrong", Reason.FAILED, ["a: wrong", "b: wrong"]),
        ("skipped", "", Reason.RULED_OUT, []),
        ("success", "", Reason.PIPELINE, []),
    ],
)
def test_each_kind_has_its_reason_and_its_faults(status: str, errors: str, reason: Reason, faults: list[str]) -> None:
    found = jobless(status, errors)
    assert (found.reason, found.facts) == (reason, {"faults": faults})
    assert found.text.endswith(".")
    assert found.next_step.endswith(".")
