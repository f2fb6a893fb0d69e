"""`pages`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.plan import Pages
from domain.config.readers.pages import read_pages
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("true", True),
        ("false", False),
        ("{}", Pages()),
        ("{publish: dist, path_prefix: $BRANCH, expire_in: 1 week}", Pages("dist", "$BRANCH", "1 week")),
        ("{expire_in: never, publish: null}", Pages(expire_in="never")),
    ],
)
def test_given(text: str, pages: Pages | bool) -> None:
    assert given(read_pages, "pages", text) == pages


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("public", 1, "pages", "pages config should be a hash or a boolean value"),
        ("[a]", 1, "pages", "pages config should be a hash or a boolean value"),
        ("{\n prefix: a}", 2, "pages", "pages config contains unknown keys: prefix"),
        ("{publish: [a]}", 1, "pages:publish", "pages publish should be a string"),
        ("{\n path_prefix: 1}", 2, "pages:path_prefix", "pages path prefix should be a string"),
        ("{expire_in: soon}", 1, "pages:expire_in", "pages expire in should be a duration"),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_pages, "pages", text) == [(line, path, message)]
