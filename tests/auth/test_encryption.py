"""Secrets at rest: only the right key opens them, for the right purpose."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.encryption import FILE, Sealer, new_key, open_sealer
from domain.errors import Invalid
from settings import Settings


def sealer(folder: Path, key: str = "") -> Sealer:
    return open_sealer(Settings(home=folder, secrets_key=key))


@given(text=st.text(), purpose=st.text())
def test_what_was_sealed_can_be_opened_for_the_same_purpose(text: str, purpose: str) -> None:
    mine = Sealer({"0badcafe": b"k" * 32})
    sealed = mine.seal(text, purpose)
    assert mine.open(sealed, purpose) == text
    assert len(text) < 8 or text not in sealed


def test_the_same_text_is_never_sealed_alike(tmp_path: Path) -> None:
    mine = sealer(tmp_path)
    assert mine.seal("secret", "a") != mine.seal("secret", "a")


def test_for_another_purpose_or_changed_it_stays_shut(tmp_path: Path) -> None:
    mine = sealer(tmp_path)
    sealed = mine.seal("secret", "ci_variable:1:")
    with pytest.raises(Invalid, match="cannot be opened for ci_variable:2:"):
        mine.open(sealed, "ci_variable:2:")
    for place in range(len("v1.00000000."), len(sealed), 7):
        changed = "A" if sealed[place] != "A" else "B"
        with pytest.raises(Invalid, match="damaged"):
            mine.open(sealed[:place] + changed + sealed[place + 1 :], "ci_variable:1:")
    with pytest.raises(Invalid, match="form"):
        mine.open("secret", "ci_variable:1:")


def test_the_key_is_made_once_and_only_we_can_read_it(tmp_path: Path) -> None:
    sealed = sealer(tmp_path).seal("secret", "a")
    path = tmp_path / "keys" / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sealer(tmp_path).open(sealed, "a") == "secret"


def test_another_key_says_which_one_is_missing_and_what_to_do(tmp_path: Path) -> None:
    sealed = sealer(tmp_path / "one").seal("secret", "a")
    with pytest.raises(Invalid, match="PERDURE_SECRETS_KEY") as raised:
        sealer(tmp_path / "two").open(sealed, "a")
    assert sealed.split(".")[1] in str(raised.value)
    assert "\n" not in str(raised.value)


def test_keys_can_be_changed_without_losing_a_secret(tmp_path: Path) -> None:
    old, fresh = new_key(), new_key()
    sealed = sealer(tmp_path, old).seal("secret", "a")
    both = sealer(tmp_path, f"{fresh} {old}")
    assert both.open(sealed, "a") == "secret"
    assert sealer(tmp_path, fresh).open(both.seal("secret", "a"), "a") == "secret"


@pytest.mark.parametrize("key", ["short", "AAAA", "no base 64!"])
def test_what_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(Invalid, match="32 bytes"):
        sealer(tmp_path, key)


def test_a_file_stays_binary_and_opens_only_for_its_purpose(tmp_path: Path) -> None:
    mine, content = sealer(tmp_path), bytes(range(256))
    sealed = mine.seal_bytes(content, "projects/1/a")
    assert mine.open_bytes(sealed, "projects/1/a") == content
    assert content[:16] not in sealed
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for what, purpose in ((sealed, "projects/2/a"), (changed, "projects/1/a"), (sealed[:14], "projects/1/a")):
        with pytest.raises(Invalid, match="cannot be opened for"):
            mine.open_bytes(what, purpose)
    with pytest.raises(Invalid, match="form"):
        mine.open_bytes(content, "projects/1/a")
