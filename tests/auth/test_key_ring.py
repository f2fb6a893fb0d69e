"""Keys in turn: a new one signs when everybody knows it, an old one is believed until nothing of it is good."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from auth.key_ring import LOOK_EVERY, KeyRing, Purpose, Turns, open_ring
from domain.errors import Invalid
from settings import Settings
from tests.auth.rings import Time
from tests.auth.test_keys import pem

TURNS = Turns(lead=10, overlap=3600)


@pytest.fixture
def time() -> Time:
    return Time()


def ring(folder: Path, time: Time, purpose: Purpose = Purpose.SIGNING) -> KeyRing:
    """A process's view of the keys in `folder`."""
    return KeyRing(purpose, folder, "perdure:east", TURNS, now=time)


def test_the_first_key_is_made_at_its_first_use_and_signs_at_once(tmp_path: Path, time: Time) -> None:
    one = ring(tmp_path / "keys", time)
    assert not (tmp_path / "keys").exists()
    kid = one.signer().kid
    assert ring(tmp_path / "keys", time).signer().kid == kid
    assert [file.name for file in (tmp_path / "keys").iterdir()] == ["signing.pem"]


def test_a_new_key_signs_after_the_lead_and_the_old_one_dies_after_the_overlap(tmp_path: Path, time: Time) -> None:
    one = ring(tmp_path, time)
    old = one.signer().kid
    new = one.rotate().key.kid
    assert (one.signer().kid, one.find(new) is not None) == (old, True)
    time.now += TURNS.lead
    assert (one.signer().kid, one.find(old) is not None) == (new, True)
    time.now += TURNS.overlap - 1
    assert one.find(old) is not None
    time.now += 1
    assert (one.find(old), one.signer().kid) == (None, new)


def test_another_process_sees_a_new_key_within_seconds(
    tmp_path: Path, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = ring(tmp_path, time), ring(tmp_path, time)
    assert other.signer().kid == one.signer().kid
    moment = [1e9]
    monkeypatch.setattr("auth.key_ring.time.monotonic", lambda: moment[0])
    other.held()
    new = one.rotate().key.kid
    assert other.find(new) is None
    moment[0] += LOOK_EVERY
    assert other.find(new) is not None
    assert TURNS.lead > LOOK_EVERY


def test_a_removed_file_is_a_key_that_nobody_believes(tmp_path: Path, time: Time) -> None:
    kid = ring(tmp_path, time).signer().kid
    (tmp_path / "signing.pem").unlink()
    again = ring(tmp_path, time)
    assert again.find(kid) is None
    assert again.signer().kid != kid


def test_rotating_removes_what_has_retired(tmp_path: Path, time: Time) -> None:
    one = ring(tmp_path, time)
    for _ in range(3):
        one.rotate()
        time.now += TURNS.lead + TURNS.overlap
    assert len(one.held()) == 1
    one.rotate()
    assert len(list(tmp_path.iterdir())) == 2


def test_two_rotations_at_the_same_moment_make_one_key(tmp_path: Path, time: Time) -> None:
    assert ring(tmp_path, time).rotate().key.kid == ring(tmp_path, time).rotate().key.kid


def test_keys_of_two_purposes_share_a_folder(tmp_path: Path, time: Time) -> None:
    signing, identity = ring(tmp_path, time), ring(tmp_path, time, Purpose.IDENTITY)
    assert (signing.signer().algorithm, identity.signer().algorithm) == ("EdDSA", "RS256")
    assert signing.find(identity.signer().kid) is None


def test_keys_of_the_settings_win_over_files(tmp_path: Path) -> None:
    first, second = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    rsa = generate_private_key(65537, 2048)
    settings = Settings(home=tmp_path, signing_key="\n".join(pem(key) for key in (rsa, first, second)))
    signing, identity = open_ring(settings, Purpose.SIGNING), open_ring(settings, Purpose.IDENTITY)
    assert len(signing.held()) == 2
    assert pem(signing.signer().private) == pem(first)
    assert pem(identity.signer().private) == pem(rsa)
    assert not (tmp_path / "keys").exists()


def test_a_wrong_key_is_known_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="PERDURE_SIGNING_KEY"):
        open_ring(Settings(home=tmp_path, signing_key="secret"), Purpose.SIGNING)
