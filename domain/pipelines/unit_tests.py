"""Tests as their history knows them: by suite, class and name, one result for each report.

GitLab knows them so, too: "Unit test reports"; its `Ci::UnitTest` has a hash of the three, of which the suite is the
name that all instances of a parallel job share.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from domain.variables.job_variables import group_name

SUCCESS: Final = "success"
BAD: Final = frozenset({"failed", "error"})
"""What a test may have become that was run; one that was skipped was not."""
KEPT_RUNS: Final = 100
"""Of each test."""
MANY_FAILURES: Final = 200
"""Above so many failures a report tells nothing of any single test. GitLab keeps none of such a pipeline."""
RECENT_DAYS: Final = 14
"""Failures count for so long. GitLab: "View the number of recent failures"."""
_MAX_TEXT: Final = 1000
_KEY_DIGITS: Final = 32


class Case(Protocol):
    """A test case of a report."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def classname(self) -> str:
        """Where it belongs."""

    @property
    def file(self) -> str:
        """Where it is written; may be empty."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    @property
    def status(self) -> str:
        """What became of it."""


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What one report says of a test. Texts are cut at 1,000 characters; the key is that of the whole ones."""

    key: str
    suite: str
    classname: str
    name: str
    file: str
    status: str
    seconds: float


def suite_of(job_name: str) -> str:
    """The suite of a job's report: instances by number share one, those of a matrix have one each."""
    return job_name if job_name.endswith("]") else group_name(job_name)


def key_of(suite: str, classname: str, name: str) -> str:
    """What a test is known by: 32 digits of a SHA-256, of texts whose lengths tell them apart."""
    text = f"{len(suite)},{len(classname)}\n{suite}\n{classname}\n{name}"
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_KEY_DIGITS]


def results_of(job_name: str, cases: Iterable[Case]) -> list[UnitResult]:
    """What a job's report says of each test that was run, in the order of their keys.

    Of one that is there more than once the worst result counts.
    """
    suite = suite_of(job_name)
    found: dict[str, UnitResult] = {}
    for case in cases:
        if case.status != SUCCESS and case.status not in BAD:
            continue
        key = key_of(suite, case.classname, case.name)
        if key not in found or (found[key].status == SUCCESS and case.status != SUCCESS):
            found[key] = _result(key, suite, case)
    return sorted(found.values(), key=lambda result: result.key)


def _result(key: str, suite: str, case: Case) -> UnitResult:
    return UnitResult(
        key=key,
        suite=suite[:_MAX_TEXT],
        classname=case.classname[:_MAX_TEXT],
        name=case.name[:_MAX_TEXT],
        file=case.file[:_MAX_TEXT],
        status=str(case.status),
        seconds=case.seconds,
    )


def has_many_failures(results: Iterable[UnitResult]) -> bool:
    """Whether so many tests fail that no single failure tells anything."""
    return sum(result.status != SUCCESS for result in results) > MANY_FAILURES
