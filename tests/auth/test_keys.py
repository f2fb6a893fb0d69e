"""The pod's signing key."""

import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from auth.keys import SigningKey
from domain.errors import Invalid


def raw(key: SigningKey) -> bytes:
    """The public half."""
    return key.public.public_bytes_raw()


def test_a_key_is_made_once_and_only_we_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "signing.pem"
    first = SigningKey.from_file(path)
    assert raw(SigningKey.from_file(path)) == raw(first)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in path.parent.iterdir()] == ["signing.pem"]


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drafts are named after the process; here threads pretend to be processes."""
    monkeypatch.setattr("auth.keys.os.getpid", threading.get_ident)
    path, found = tmp_path / "signing.pem", []
    threads = [threading.Thread(target=lambda: found.append(raw(SigningKey.from_file(path)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert set(found) == {raw(SigningKey.from_file(path))}


def test_what_is_no_key_is_named() -> None:
    with pytest.raises(Invalid, match="PERDURE_SIGNING_KEY is not a PEM private key"):
        SigningKey.from_pem("secret")


def test_a_key_of_another_kind_is_named() -> None:
    pem = generate_private_key(SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(Invalid, match="not an Ed25519 key"):
        SigningKey.from_pem(pem.decode())
