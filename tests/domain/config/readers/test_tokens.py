"""`id_tokens`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.readers.tokens import read_id_tokens
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("{}", {}),
        ("{A: {aud: 'https://v'}}", {"A": ("https://v",)}),
        ("{A: {aud: [a, b]}, B: {aud: $C}}", {"A": ("a", "b"), "B": ("$C",)}),
    ],
)
def test_given(text: str, tokens: dict[str, tuple[str, ...]]) -> None:
    assert given(read_id_tokens, "id_tokens", text) == tokens


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("[a]", 1, "id_tokens", "id_tokens config should be a hash"),
        ("{A: a}", 1, "id_tokens:A", "id_tokens:A config should be a hash"),
        ("{A: null}", 1, "id_tokens:A", "id_tokens:A config should be a hash"),
        ("{\n A: {}}", 2, "id_tokens:A", "id_tokens:A config missing required keys: aud"),
        ("{A: {aud: null}}", 1, "id_tokens:A", "id_tokens:A config missing required keys: aud"),
        ("{A: {aud: a,\n sub: b}}", 2, "id_tokens:A", "id_tokens:A config contains unknown keys: sub"),
        ("{A: {aud: 1}}", 1, "id_tokens:A:aud", "id_tokens:A aud should be an array of strings or a string"),
        ("{A: {\n aud: []}}", 2, "id_tokens:A:aud", "id_tokens:A aud can't be blank"),
        ("{A: {aud: [a, ' ']}}", 1, "id_tokens:A:aud", "id_tokens:A aud can't be blank"),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_id_tokens, "id_tokens", text) == [(line, path, message)]
