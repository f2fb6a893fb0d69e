"""`hooks`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.readers.hooks import read_hooks
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "hooks"),
    [
        ("{}", {}),
        ("{pre_get_sources_script: a}", {"pre_get_sources_script": ("a",)}),
        ("{pre_get_sources_script: [a, [b, [c]]]}", {"pre_get_sources_script": ("a", "b", "c")}),
        ("{pre_get_sources_script: null}", {}),
    ],
)
def test_given(text: str, hooks: dict[str, tuple[str, ...]]) -> None:
    assert given(read_hooks, "hooks", text) == hooks


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("a", 1, "hooks", "hooks config should be a hash"),
        (
            "{\n pre_get_source_script: a}",
            2,
            "hooks",
            "hooks config contains unknown keys: pre_get_source_script; did you mean `pre_get_sources_script`?",
        ),
        (
            "{\n pre_get_sources_script: 7}",
            2,
            "hooks:pre_get_sources_script",
            "hooks:pre_get_sources_script config should be a string or a nested array of strings up to 10 levels deep",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_hooks, "hooks", text) == [(line, path, message)]
