"""Secrets never reach the log, however the stream is cut."""

from hypothesis import given
from hypothesis import strategies as st

from domain.masked_stream import REPLACEMENT, Masker


def masked(secrets: list[str], *pieces: bytes) -> bytes:
    masker = Masker(secrets)
    return b"".join(masker.feed(piece) for piece in pieces) + masker.flush()


def test_split_over_writes() -> None:
    assert masked(["secret"], b"a sec", b"r", b"et b") == b"a [MASKED] b"


def test_beginning_that_turns_out_harmless_is_kept() -> None:
    assert masked(["secret"], b"a sec", b"ond") == b"a second"


def test_overlapping_secrets_are_hidden_as_one() -> None:
    assert masked(["abcd", "cdef"], b"xabcdefx") == b"x[MASKED]x"
    assert masked(["abcd", "cdef"], b"xabcd", b"efx") == b"x[MASKED]x"


def test_longer_secret_wins_over_its_beginning() -> None:
    assert masked(["pass", "password"], b"pass", b"word!") == b"[MASKED]!"


def test_neighbours_are_hidden_each() -> None:
    assert masked(["ab"], b"abab") == b"[MASKED][MASKED]"


def test_tokens_are_known_by_their_prefix() -> None:
    assert masked([], b"t=glpat-", b"abc.01.xyz \n") == b"t=[MASKED] \n"
    assert masked([], b"glpat- is a prefix") == b"glpat- is a prefix"


def test_open_token_is_not_held_back_for_ever() -> None:
    masker = Masker([])
    assert masker.feed(b"glpat-" + b"a" * 5000)


def test_binary_passes() -> None:
    every = bytes(range(256)) * 3
    assert masked(["secret"], every[:100], every[100:]) == every


@given(
    st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=3),
    st.lists(st.text("abcx", max_size=6), max_size=8),
)
def test_cutting_the_stream_changes_nothing(secrets: list[str], pieces: list[str]) -> None:
    whole = "".join(pieces).encode()
    cut = masked(secrets, *(piece.encode() for piece in pieces))
    assert cut == masked(secrets, whole)
    rest = cut.replace(b"[MASKED]", b"\0")
    assert not any(secret.encode() in rest for secret in secrets)


@given(
    st.lists(st.sampled_from(["glpat-", "glrt-", "gl", "pat-", "a", " ", "sec", "secret"]), max_size=30),
    st.integers(1, 9),
)
def test_cutting_tokens_that_overlap_changes_nothing(parts: list[str], size: int) -> None:
    whole = "".join(parts).encode()
    assert masked(["secretgl", "agl"], *(whole[at : at + size] for at in range(0, len(whole), size))) == masked(
        ["secretgl", "agl"], whole
    )


def test_tokens_that_overlap_for_ever_are_not_held_back() -> None:
    masker = Masker([])
    written = masker.feed(b"glpat-" * 2_000) + masker.feed(b"glpat-" * 2_000)
    assert written == REPLACEMENT
    assert len(masker._held) < 5_000
    assert masker.feed(b" and more") + masker.flush() == b" and more"
