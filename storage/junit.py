"""Reads JUnit test reports as runners upload them: XML, usually gzip, one member for each file.

Reference: reliability, row F3 (no entity is ever expanded, nothing outside is fetched, size is bounded); runner
protocol, section 6.1 (several reports come as concatenated gzip members).
"""

import io
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from domain.errors import Invalid, TooLarge

UNPACKED_LIMIT: Final = 10 * 1024 * 1024
"""Bytes of all reports of one upload, unpacked."""
CASE_LIMIT: Final = 100_000
"""Test cases of one upload."""
DEPTH_LIMIT: Final = 32
"""Elements inside each other; test suites hold suites, but not so many."""
MESSAGE_LIMIT: Final = 16 * 1024
"""Characters of a failure's text that are kept."""
_GZIP: Final = b"\x1f\x8b"


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


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One test. `seconds` is 0 when the report does not say; `message` is the text of a failure, error or skip."""

    name: str
    classname: str
    file: str
    seconds: float
    status: CaseStatus
    message: str
    suite: str = ""


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
    documents = _documents(data)
    cases: list[JUnitCase] = []
    for document in documents:
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


def _documents(data: bytes) -> list[bytes]:
    if not data.startswith(_GZIP):
        if len(data) > UNPACKED_LIMIT:
            raise TooLarge(f"The JUnit report has more than {UNPACKED_LIMIT} bytes.")
        return [data]
    documents: list[bytes] = []
    room = UNPACKED_LIMIT
    while data.startswith(_GZIP):
        unpacking = zlib.decompressobj(wbits=31)
        try:
            document = unpacking.decompress(data, room + 1)
        except zlib.error as error:
            raise Invalid(f"The JUnit report is broken gzip data: {error}") from error
        room -= len(document)
        if room < 0:
            raise TooLarge(f"The JUnit report has more than {UNPACKED_LIMIT} bytes when unpacked.")
        if not unpacking.eof:
            raise Invalid("The JUnit report is gzip data that ends too early; upload it again.")
        documents.append(document)
        data = unpacking.unused_data
    return documents


def _cases(document: bytes) -> Iterator[JUnitCase]:
    """All cases of one document; elements are dropped as they are read, so memory stays small."""
    path: list[Element] = []
    try:
        for event, element in iterparse(io.BytesIO(document), events=("start", "end"), forbid_dtd=True):
            if event == "start":
                if not path and _tag(element) not in {"testsuites", "testsuite"}:
                    raise Invalid(f"The report is no JUnit report: its root is <{element.tag[:80]}>.")
                path.append(element)
                if len(path) > DEPTH_LIMIT:
                    raise Invalid(f"The JUnit report has elements more than {DEPTH_LIMIT} deep.")
                continue
            path.pop()
            if _tag(element) == "testcase":
                yield _case(element, path)
            if _tag(element) in {"testcase", "testsuite", "properties", "system-out", "system-err"} and path:
                path[-1].remove(element)
    except ParseError as error:
        line, column = error.position
        raise Invalid(f"The JUnit report is broken XML at line {line}, column {column + 1}: {error}") from error
    except DefusedXmlException as error:
        raise Invalid(
            f"The JUnit report has a document type or entities, which are refused; remove them. ({error})"
        ) from error
    except (LookupError, ValueError) as error:
        raise Invalid(f"The JUnit report has an encoding that cannot be read: {error}") from error


def _case(element: Element, path: list[Element]) -> JUnitCase:
    status, message = CaseStatus.SUCCESS, ""
    children = {_tag(child): child for child in reversed(element)}
    for tag, its_status in _STATUS_OF.items():
        if tag in children:
            status, message = its_status, _message(children[tag])
            break
    suites = [parent.get("name", "") for parent in path if _tag(parent) == "testsuite"]
    return JUnitCase(
        name=element.get("name", ""),
        classname=element.get("classname", ""),
        file=element.get("file", ""),
        seconds=_seconds(element.get("time", "")),
        status=status,
        message=message,
        suite=suites[-1] if suites else "",
    )


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


def _tag(element: Element) -> str:
    """The tag without a name space."""
    return element.tag.rpartition("}")[2]
