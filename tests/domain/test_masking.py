"""Secrets in a log: found whatever the cuts, and each byte keeps its place."""

import base64
import re
from collections.abc import Iterator
from random import Random
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.masking import MAX_TOKEN, MaskedRange, Secrets, forms

SECRETS = ("correct horse", "horse battery", "p@ss/word+1", "aaaaaaaa", "first line of it\nshort\nanother long line")
TOKENS = ("glpat-abc.01.xyz", "glcbt-" + "eyJhb.ciOi_J-9" * 40, "glrt-t1_x.y", "GR1348941abcdef")
FORMS = sorted({form for secret in SECRETS for form in forms(secret)})
KNOWN = Secrets(FORMS)
CASES = 20
"""Ranges and cuts that each log is tried with: of 250 logs 5,000."""


def in_parts(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    """The bytes in parts of these lengths, and the rest in one."""
    position = 0
    for length in [*cuts, len(data)]:
        yield data[position : position + length]
        position += length


def part(secrets: Secrets, log: bytes, start: int, end: int, cuts: list[int], *, grows: bool = False) -> bytes:
    """A masked range of a log that arrives in parts."""
    masked = MaskedRange(secrets, start, end, len(log), grows=grows)
    return b"".join(masked.feed(piece) for piece in in_parts(log[masked.begin : masked.stop], cuts))


pieces = st.one_of(
    st.sampled_from(SECRETS + TOKENS).map(str.encode),
    st.sampled_from(FORMS),
    st.sampled_from(TOKENS + SECRETS).flatmap(lambda word: st.integers(1, len(word)).map(lambda n: word[:n].encode())),
    st.integers(1, 9000).map(lambda length: b"glft-" * (length // 5)),
    st.binary(max_size=40),
    st.sampled_from((b" ", b"\n", b"g", b"gl", b"a", b"\x1b[0;m", b"." * 5000)),
)


@given(
    st.sampled_from(["aa", "aab", "abab", "aabaa", "abaabaab", "abcabcab", "aaaaaaaaaa"]), st.text("ab", max_size=60)
)
def test_a_value_that_repeats_itself_is_hidden_wherever_it_stands(value: str, text: str) -> None:
    hidden: set[int] = set()
    for start in range(len(text)):
        if text.startswith(value, start):
            hidden.update(range(start, start + len(value)))
    shown = "".join("*" if place in hidden else letter for place, letter in enumerate(text))
    assert Secrets([value.encode()], ()).masked(text.encode()) == shown.encode()


@pytest.mark.parametrize("logs", [40, pytest.param(250, marks=pytest.mark.slow)])
def test_any_range_in_any_parts_is_that_range_of_the_masked_whole(logs: int) -> None:
    tried = given(parts=st.lists(pieces, max_size=8), seed=st.integers(0, 2**32))(any_range)
    settings(max_examples=logs)(tried)()


def any_range(parts: list[bytes], seed: int) -> None:
    """Mask a log as a whole, and ranges of it that come in parts."""
    log, random = b"".join(parts), Random(seed)
    whole = KNOWN.masked(log)
    assert len(whole) == len(log)
    assert not any(form in whole for form in FORMS)
    for _ in range(CASES):
        start, end = sorted(random.choices(range(len(log) + 1), k=2))
        cuts = [int(2 ** random.uniform(0, 16)) for _ in range(random.randrange(6))]
        assert part(KNOWN, log, start, end, cuts) == whole[start:end]
        decided = min(end, KNOWN.open_end(log))
        assert part(KNOWN, log, start, end, cuts, grows=True) == whole[start:decided]


@settings(max_examples=200)
@given(parts=st.lists(pieces, max_size=5), data=st.data())
def test_what_is_decided_stays_so_however_the_log_goes_on(parts: list[bytes], data: st.DataObject) -> None:
    log = b"".join(parts)
    size = data.draw(st.integers(0, len(log)))
    decided = KNOWN.open_end(log[:size])
    assert KNOWN.masked(log[:size])[:decided] == KNOWN.masked(log)[:decided]


@settings(max_examples=300)
@given(
    value=st.lists(st.sampled_from([b"a", b"aab", b"aabaa" * 9]), min_size=1, max_size=12).map(b"".join),
    before=st.lists(st.sampled_from([b"a", b"b", b"aab" * 20, b"aabaa" * 9]), max_size=4).map(b"".join),
    data=st.data(),
)
def test_the_open_end_is_the_longest_that_may_become_a_value(value: bytes, before: bytes, data: st.DataObject) -> None:
    """Also where the value repeats itself, and far more than a few ends have to be compared."""
    log = before + value[: data.draw(st.integers(0, len(value)))]
    starts = (start for start in range(max(0, len(log) - len(value) + 1), len(log)) if value.startswith(log[start:]))
    assert Secrets([value], prefixes=()).open_end(log) == min(starts, default=len(log))


@pytest.mark.parametrize("secret", ["correct horse", "p@ss/word+1?", "\u00fcml\u00e4ut & so"])
@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user:"])
@pytest.mark.parametrize("after", ["", "\n", "xyz!"])
def test_a_value_is_hidden_in_base64_wherever_it_begins(secret: str, before: str, after: str) -> None:
    text = f"{before}{secret}{after}".encode()
    secrets = Secrets(forms(secret))
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(text)
        hidden = secrets.masked(b"= " + encoded + b"\n")
        clear = len(hidden) - hidden.count(b"*") - 3
        assert clear <= 4 * (len(before) // 3 + len(after) // 3 + 3)
        assert encoded not in hidden
        assert hidden.count(b"*") >= len(secret.encode()) * 4 // 3 - 2


@pytest.mark.parametrize("secret", ["correct horse", "p@ss/word+1"])
def test_a_value_is_hidden_in_an_address(secret: str) -> None:
    secrets = Secrets(forms(secret))
    for safe in ("", "/"):
        written = quote(secret, safe=safe).encode()
        assert secrets.masked(b"?token=" + written + b"&x") == b"?token=" + b"*" * len(written) + b"&x"


def test_each_long_line_of_a_value_is_hidden_alone() -> None:
    """A runner writes a time stamp before each line."""
    secrets = Secrets(forms(SECRETS[-1]))
    log = b"00O first line of it\r\n00O short\r\n00O another long line\r\n"
    assert secrets.masked(log) == b"00O " + b"*" * 16 + b"\r\n00O short\r\n00O " + b"*" * 17 + b"\r\n"


def test_a_short_value_is_hidden_only_as_it_is() -> None:
    assert list(forms("abc")) == [b"abc"]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_hidden_to_its_end(token: str) -> None:
    word = token.encode()
    assert Secrets().masked(b"t=" + word + b" &") == b"t=" + b"*" * len(word) + b" &"


def test_a_word_without_end_is_hidden_as_far_as_a_token_may_reach() -> None:
    masked = Secrets().masked(b"glpat-" + b"a" * 2 * MAX_TOKEN)
    assert masked.count(b"*") == len("glpat-") + MAX_TOKEN


@given(st.lists(st.sampled_from(["glpat-", "glrt-", "GR1348941", "gl", "a", "=", " ", "a" * 4090]), max_size=12))
def test_tokens_are_words_behind_their_prefixes(parts: list[str]) -> None:
    log = "".join(parts).encode()
    words = re.compile(rb"(?=((?:glpat-|glrt-|GR1348941)[\w.=-]{1,%d}))" % MAX_TOKEN)
    hidden = bytearray(log)
    for found in words.finditer(log):
        hidden[found.start(1) : found.end(1)] = b"*" * len(found[1])
    assert Secrets().masked(log) == bytes(hidden)
