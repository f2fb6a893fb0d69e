"""Public SSH keys: which are taken, which are not and why, and their fingerprints."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from auth.ssh_key import MAX_LENGTH, fingerprints, read_public_key
from domain.errors import Invalid

KNOWN = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43


def text_of(public: ed25519.Ed25519PublicKey | rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> str:
    """A key as OpenSSH writes it."""
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def security_key() -> str:
    """A key of a hardware token."""
    parts = (b"sk-ssh-ed25519@openssh.com", bytes(32), b"ssh:")
    body = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"sk-ssh-ed25519@openssh.com {base64.b64encode(body).decode()}"


GOOD = (
    KNOWN,
    text_of(rsa.generate_private_key(65537, 2048).public_key()),
    *(
        text_of(ec.generate_private_key(curve).public_key())
        for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())
    ),
    security_key(),
)


@pytest.mark.parametrize("text", GOOD)
def test_a_key_is_taken_with_its_comment_which_its_fingerprints_do_not_count(text: str) -> None:
    plain, commented = read_public_key(text), read_public_key(f"  {text} ada@example.org on a laptop\n")
    assert commented.text == f"{text} ada@example.org on a laptop"
    assert (plain.sha256, plain.md5) == (commented.sha256, commented.md5)
    assert (len(plain.sha256), len(plain.md5)) == (43, 47)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "its type must be one of ssh-ed25519"),
        ("ssh-ed25519", "only a part of one"),
        (KNOWN[:-5], "only a part of one"),
        (KNOWN + "AAAA", "is no such key"),
        (f"{KNOWN[:30]}!!!!{KNOWN[30:]}", "is no such key"),
        (KNOWN.replace("ssh-ed25519", "ssh-rsa"), "is no such key"),
        (text_of(rsa.generate_private_key(65537, 1024).public_key()), "it has 1024 bits"),
        ("ssh-dss AAAAB3NzaC1kc3MAAAAA", "its type must be"),
        (f"{KNOWN}\n{KNOWN}", "one line"),
        (f"{KNOWN} {'x' * MAX_LENGTH}", f"at most {MAX_LENGTH} characters"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "that is a private key"),
    ],
)
def test_what_is_no_good_key_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        read_public_key(text)


def test_fingerprints_are_read_as_people_copy_them() -> None:
    known = read_public_key(KNOWN)
    for text in (f"SHA256:{known.sha256}", f"SHA256:{known.sha256}=", f"SHA256:{known.sha256}".replace("+", " ")):
        assert fingerprints(text) == (known.sha256, "")
    for text in (known.md5, known.md5.upper(), f"MD5:{known.md5}"):
        assert fingerprints(text) == ("", known.md5)
