"""What hostile reports are measured against."""

import pytest

from storage.reports.junit import parse_junit
from tests.growth import cost

_CASES = 20_000


@pytest.fixture(scope="session")
def honest() -> float:
    """Seconds of processor time for a report of a megabyte that does no harm."""
    cases = (b'<testcase classname="c" name="n%d" time="0.1"/>' % number for number in range(_CASES))
    report = b"<testsuites><testsuite>%b</testsuite></testsuites>" % b"".join(cases)
    return cost(lambda: parse_junit(report))
