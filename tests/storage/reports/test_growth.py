"""Reports that once cost the square of their length."""

from collections.abc import Callable

import pytest

from storage.reports.junit import parse_junit
from storage.reports.parsers import PARSERS
from tests.growth import assert_linear

SUITES, CASE = b"<testsuites>%s</testsuites>", b"<testcase name='n'/>"
SOURCE_FILE = b"<report><package><sourcefile name='f'>%s</sourcefile></package></report>"
CLASS = b"<class filename='f'><lines><line/></lines></class>"
XML = {
    "siblings that nobody wants, then cases": ("junit", SUITES, b"<a/>", CASE),
    "cases among them": ("junit", SUITES, b"<a/>" + CASE, b""),
    "failures of one case": ("junit", b"<testsuite><testcase>%s</testcase></testsuite>", b"<failure/><x/>", b""),
    "suites": ("junit", SUITES, b"<testsuite name='s'><testcase/></testsuite>", b""),
    "lines": ("jacoco", SOURCE_FILE, b"<x/>", b"<line nr='1'/>"),
    "classes": ("cobertura", b"<coverage>%s</coverage>", b"<x/>", CLASS),
}


@pytest.mark.parametrize(("kind", "around", "first", "then"), XML.values(), ids=XML.keys())
def test_a_report_costs_what_its_length_does(kind: str, around: bytes, first: bytes, then: bytes) -> None:
    parse = parse_junit if kind == "junit" else PARSERS[kind]

    def made(size: int) -> Callable[[], object]:
        document = around % (first * size + then * size)
        return lambda: parse(document)

    assert_linear(made, 1000)
