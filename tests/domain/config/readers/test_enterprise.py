"""`identity` and `dast_configuration`: what each form gives, and what is said about wrong ones."""

from typing import Any

import pytest

from domain.config.readers.enterprise import read_dast_configuration, read_identity
from tests.domain.config.reading.fields import given, refused

READERS = {"identity": read_identity, "dast_configuration": read_dast_configuration}


@pytest.mark.parametrize(
    ("keyword", "text", "found"),
    [
        ("identity", "google_cloud", "google_cloud"),
        ("dast_configuration", "{}", {}),
        (
            "dast_configuration",
            "{site_profile: a, scanner_profile: b}",
            {"site_profile": "a", "scanner_profile": "b"},
        ),
    ],
)
def test_given(keyword: str, text: str, found: Any) -> None:
    assert given(READERS[keyword], keyword, text) == found


@pytest.mark.parametrize(
    ("keyword", "text", "line", "path", "message"),
    [
        (
            "identity",
            "google",
            1,
            "identity",
            "identity config unknown value: google; should be one of: google_cloud",
        ),
        ("identity", "1", 1, "identity", "identity config should be a string; should be one of: google_cloud"),
        ("dast_configuration", "a", 1, "dast_configuration", "dast_configuration config should be a hash"),
        (
            "dast_configuration",
            "{\n site: a}",
            2,
            "dast_configuration",
            "dast_configuration config contains unknown keys: site",
        ),
        (
            "dast_configuration",
            "{\n site_profile: [a]}",
            2,
            "dast_configuration:site_profile",
            "dast_configuration site profile should be a string",
        ),
    ],
)
def test_refused(keyword: str, text: str, line: int, path: str, message: str) -> None:
    assert refused(READERS[keyword], keyword, text) == [(line, path, message)]
