"""Reads JUnit test reports as runners upload them: XML, usually gzip, one member for each file.

Test suites may hold suites; only the innermost one of a case counts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from xml.etree.ElementTree import Element

from domain.errors import TooLarge
from storage.reports.content import documents
from storage.reports.xml_elements import elements, require_root, tag

WHAT: Final = "JUnit report"
CASE_LIMIT: Final = 100_000
"""Test cases of one upload."""
MESSAGE_LIMIT: Final = 16 * 1024
"""Characters of a failure's text that are kept."""
_ROOTS: Final = frozenset({"testsuites", "testsuite"})


class CaseStatus(StrEnum):
    """What became of a test case."""

    SUCCESS = "success"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


_STATUS_OF: Final = {
    "error": CaseStatus.ERROR,
    "failure": CaseStatus.FAILED,
    "skipped": CaseStatus.SKIPPED,
}
"""Child elements of a case, the one that counts most first."""
_PRINTED: Final = "system-out"
_KEPT: Final = {"testcase": frozenset({*_STATUS_OF, _PRINTED})}
_ATTACHMENT: Final = "[[ATTACHMENT|"
"""Before the name of a file in what a case printed, which ends with two brackets. GitLab: "View JUnit screenshots"."""
ATTACHMENT_LIMIT: Final = 1024
"""Characters of such a name."""


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One test. `seconds` is 0 when the report does not say; `message` is the text of a failure, error or skip.

    `attachment` is the name of a file in the artifacts of its job, such as a picture of what a failed test saw.
    """

    name: str
    classname: str
    file: str
    seconds: float
    status: CaseStatus
    message: str
    suite: str = ""
    attachment: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many tests, how they ended, and how long they took; counted from the cases, never taken from attributes."""

    total: int
    failed: int
    errored: int
    skipped: int
    seconds: float


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """A named group of tests."""

    name: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class JUnitReport:
    """Everything one upload says; suites and cases in the order of the text."""

    suites: tuple[JUnitSuite, ...]
    total: int
    failed: int
    errored: int
    skipped: int
    seconds: float
    cases: tuple[JUnitCase, ...]


def parse_junit(data: bytes) -> JUnitReport:
    """Read an upload, gzip or plain. It takes up to a second for the largest: call it in a thread.

    Raises Invalid with the line for broken XML, a document type or entities, and what is no JUnit report; TooLarge
    above a limit.
    """
    cases: list[JUnitCase] = []
    for document in documents(data, WHAT):
        for case in _cases(document):
            cases.append(case)
            if len(cases) > CASE_LIMIT:
                raise TooLarge(f"The JUnit report has more than {CASE_LIMIT} test cases; split it.")
    by_suite: dict[str, list[JUnitCase]] = {}
    for case in cases:
        by_suite.setdefault(case.suite, []).append(case)
    total = _count(cases)
    return JUnitReport(
        suites=tuple(JUnitSuite(name, _count(members)) for name, members in by_suite.items()),
        total=total.total,
        failed=total.failed,
        errored=total.errored,
        skipped=total.skipped,
        seconds=total.seconds,
        cases=tuple(cases),
    )


def _count(cases: list[JUnitCase]) -> Counts:
    ends = [case.status for case in cases]
    return Counts(
        total=len(cases),
        failed=ends.count(CaseStatus.FAILED),
        errored=ends.count(CaseStatus.ERROR),
        skipped=ends.count(CaseStatus.SKIPPED),
        seconds=math.fsum(case.seconds for case in cases),
    )


def _cases(document: bytes) -> Iterator[JUnitCase]:
    """All cases of one document."""
    for found in elements(document, WHAT, _KEPT):
        require_root(found, _ROOTS, WHAT)
        if tag(found[0]) == "testcase":
            yield _case(*found)


def _case(element: Element, path: tuple[Element, ...]) -> JUnitCase:
    status, message = CaseStatus.SUCCESS, ""
    children = {tag(child): child for child in element}
    for child, its_status in _STATUS_OF.items():
        if child in children:
            status, message = its_status, _message(children[child])
            break
    is_bad = status in {CaseStatus.FAILED, CaseStatus.ERROR}
    suites = [parent.get("name", "") for parent in path if tag(parent) == "testsuite"]
    return JUnitCase(
        name=element.get("name", ""),
        classname=element.get("classname", ""),
        file=element.get("file", ""),
        seconds=_seconds(element.get("time", "")),
        status=status,
        message=message,
        suite=suites[-1] if suites else "",
        attachment=_attachment(children[_PRINTED].text or "") if is_bad and _PRINTED in children else "",
    )


def _attachment(printed: str) -> str:
    """The first file that a text names; empty if it names none within the project's folder."""
    for text in printed.split(_ATTACHMENT)[1:]:
        name, sign, _ = text.partition("]]")
        parts = [part for part in name.strip().split("/") if part not in {"", "."}]
        if sign and parts and "\n" not in name and len(name) <= ATTACHMENT_LIMIT and ".." not in parts:
            return "/".join(parts)
    return ""


def _message(element: Element) -> str:
    """The `message` attribute, then the text, once where they say the same."""
    head, body = element.get("message", "").strip(), (element.text or "").strip()
    return (body if body.startswith(head) else f"{head}\n{body}".strip())[:MESSAGE_LIMIT]


def _seconds(text: str) -> float:
    """A number of seconds, also with thousands separated (`1,234.5`); 0 for anything else."""
    try:
        seconds = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
