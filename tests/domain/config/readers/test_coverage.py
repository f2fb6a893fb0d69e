"""`coverage`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.readers.coverage import read_coverage
from domain.config.rules.patterns import Patterns
from tests.domain.config.reading.fields import field_of, given, refused


@pytest.mark.parametrize("text", ["/Code coverage: \\d+\\.\\d+/", "/TOTAL.*? (100|\\d+)%/", "/a\\/b/", "//", "/a/i"])
def test_given(text: str) -> None:
    assert given(read_coverage, "coverage", f"'{text}'") == text


@pytest.mark.parametrize("text", ["'abc'", "''", "/", "/a", "a/", "'/a/x'", "1", "[/a/]", "true"])
def test_what_is_not_between_slashes(text: str) -> None:
    said = "coverage config must be a regular expression with re2 syntax, between slashes as `/^v1/`"
    assert refused(read_coverage, "coverage", text) == [(1, "coverage", said)]


@pytest.mark.parametrize("text", ["'/(a/'", "'/(?=a)/'", "'/a**/'", "'/[b-a]/'"])
def test_what_re2_does_not_know(text: str) -> None:
    ((line, path, message),) = refused(read_coverage, "coverage", text)
    assert (line, path) == (1, "coverage")
    assert message.startswith("coverage config must be a regular expression with re2 syntax: ")


def test_all_patterns_of_a_configuration_share_their_limits() -> None:
    patterns = Patterns(instructions=10)
    texts = [f"'/{'a' * 20}{number}/'" for number in range(3)]
    fields = [field_of("coverage", text) for text in texts]
    found = [read_coverage(field, patterns) for field in fields]
    assert found[0] is not None
    assert found[2] is None
    assert len(fields[2].issues) == 1
