"""Keys that sign."""

import base64
import subprocess
import threading
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa

from auth.keys import Algorithm, PrivateKey, SigningKey, read_keys
from domain.errors import Invalid

SOURCE = "PERDURE_SIGNING_KEY"


def pem(key: PrivateKey | EllipticCurvePrivateKey) -> str:
    """A key as people hand it in."""
    kind = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()).decode()


def test_a_key_is_written_once_and_only_we_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "signing.pem"
    first = SigningKey.new(Algorithm.EDDSA)
    first.write(path)
    SigningKey.new(Algorithm.EDDSA).write(path)
    assert [key.kid for key in read_keys(path.read_text(), SOURCE)] == [first.kid]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in path.parent.iterdir()] == ["signing.pem"]


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    """Threads pretend to be processes."""
    path, found = tmp_path / "signing.pem", []

    def start() -> None:
        SigningKey.new(Algorithm.EDDSA).write(path)
        found.append(read_keys(path.read_text(), SOURCE)[0].kid)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(set(found))) == (8, 1)


def test_a_key_is_called_by_its_thumbprint() -> None:
    """The example of RFC 8037, appendix A.3."""
    seed = base64.urlsafe_b64decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=")
    key = SigningKey.of(Ed25519PrivateKey.from_private_bytes(seed))
    assert key.kid == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_the_public_half_verifies_and_holds_nothing_else() -> None:
    for algorithm in Algorithm:
        key = SigningKey.new(algorithm)
        document = key.public_document()
        token = jwt.encode({"sub": "1"}, key.private, algorithm=algorithm)
        assert jwt.decode(token, jwt.PyJWK(document), algorithms=[algorithm]) == {"sub": "1"}
        assert document.keys() <= {"kty", "crv", "x", "n", "e", "kid", "use", "alg"}


def test_several_keys_are_read_in_their_order(tmp_path: Path) -> None:
    both: list[PrivateKey] = [Ed25519PrivateKey.generate(), generate_rsa(65537, 2048)]
    found = read_keys("words\n" + "\n".join(pem(key) for key in both), SOURCE)
    assert [(key.kid, key.algorithm) for key in found] == [
        (SigningKey.of(both[0]).kid, "EdDSA"),
        (SigningKey.of(both[1]).kid, "RS256"),
    ]


@pytest.mark.parametrize(
    "words", [("-algorithm", "ed25519"), ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")]
)
def test_a_key_of_openssl_is_read(words: tuple[str, ...]) -> None:
    made = subprocess.run(["openssl", "genpkey", *words], check=True, capture_output=True, text=True)
    assert len(read_keys(made.stdout, SOURCE)) == 1


@pytest.mark.parametrize("text", ["secret", "", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
def test_what_is_no_key_is_named(text: str) -> None:
    with pytest.raises(Invalid, match="PERDURE_SIGNING_KEY is not a PEM private key"):
        read_keys(text, SOURCE)


@pytest.mark.parametrize("key", [generate_private_key(SECP256R1()), generate_rsa(65537, 1024)])
def test_a_key_of_another_kind_or_a_weak_one_is_named(key: PrivateKey | EllipticCurvePrivateKey) -> None:
    with pytest.raises(Invalid, match="neither an Ed25519 key nor an RSA key of 2048 bits"):
        read_keys(pem(key), SOURCE)
