"""`inherit`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.keywords import DEFAULT
from domain.config.readers.inherit import Inherit, read_inherit
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "inherit"),
    [
        ("{}", Inherit(default=True, variables=True)),
        ("{default: false}", Inherit(default=False)),
        ("{variables: false, default: null}", Inherit(variables=False)),
        ("{default: [image, retry], variables: [A, B]}", Inherit(("image", "retry"), ("A", "B"))),
        ("{default: [], variables: []}", Inherit((), ())),
        (f"{{default: [{', '.join(sorted(DEFAULT))}]}}", Inherit(tuple(sorted(DEFAULT)))),
    ],
)
def test_given(text: str, inherit: Inherit) -> None:
    assert given(read_inherit, "inherit", text) == inherit


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("true", 1, "inherit", "inherit config should be a hash"),
        (
            "{\n defaults: true}",
            2,
            "inherit",
            "inherit config contains unknown keys: defaults; did you mean `default`?",
        ),
        ("{default: image}", 1, "inherit:default", "inherit:default config should be a bool or array of strings"),
        (
            "{\n variables: {a: b}}",
            2,
            "inherit:variables",
            "inherit:variables config should be a bool or array of strings",
        ),
        ("{variables: [1]}", 1, "inherit:variables", "inherit:variables config should be an array of strings"),
        (
            "{default: [image, imagge, stage]}",
            1,
            "inherit:default",
            "inherit:default config contains unknown values: imagge, stage; did you mean `image`?",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_inherit, "inherit", text) == [(line, path, message)]
