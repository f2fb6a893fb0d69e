"""What the history of tests knows of those that fail: how often the default branch failed by them, which are flaky."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Protocol

from application.services import Services
from domain.pipelines.unit_tests import BAD, key_of, suite_of
from models.repositories.artifacts import unit_test_runs
from models.repositories.artifacts.unit_test_runs import KnownTest
from models.rows.projects import ProjectRow

MAX_ASKED: Final = 1000
"""Failing tests of one report; where more fail, the history says nothing of the others."""
_MAX_BATCH: Final = 500

Entry = Mapping[str, Any]


class JobCases(Protocol):
    """The test report of a job, with its cases."""

    @property
    def name(self) -> str:
        """What the job is called."""

    @property
    def cases(self) -> Sequence[Entry]:
        """Each test."""


@dataclass(frozen=True, slots=True)
class KnownFailures:
    """What is known, by key; `base_branch` is the default branch."""

    tests: Mapping[str, KnownTest]
    base_branch: str

    def of(self, job_name: str, case: Entry) -> KnownTest | None:
        """What is known of a case of a job's report; nothing of one that does not fail."""
        if not self.tests or case.get("status") not in BAD:
            return None
        return self.tests.get(_key(job_name, case))


def cases_of(rows: Iterable[JobCases]) -> Iterator[tuple[str, Entry]]:
    """The cases of reports, each with the name of its job."""
    return ((row.name, case) for row in rows for case in row.cases)


async def known_failures(services: Services, project: ProjectRow, cases: Iterable[tuple[str, Entry]]) -> KnownFailures:
    """What the history of a project knows of those of these cases that fail."""
    failing = ((job_name, case) for job_name, case in cases if case.get("status") in BAD)
    keys = list(dict.fromkeys(_key(job_name, case) for job_name, case in islice(failing, MAX_ASKED)))
    found: dict[str, KnownTest] = {}
    now = services.clock()
    for start in range(0, len(keys), _MAX_BATCH):
        async with services.database.read() as connection:
            found |= await unit_test_runs.known(connection, project.id, keys[start : start + _MAX_BATCH], now)
    return KnownFailures(found, project.default_branch)


def _key(job_name: str, case: Entry) -> str:
    return key_of(suite_of(job_name), case.get("classname") or "", case.get("name") or "")
