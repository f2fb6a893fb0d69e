"""The certificates by which the container set's Temporal and its callers know each other.

`python -m pods.temporal_certificates AUTHORITY SERVER CLIENT` makes what is missing in these three folders and renews
what has less than a third of its life left. It runs at every start of the set; what is good stays byte for byte.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from domain.errors import PerdureError, Refused
from files import durable

AUTHORITY_LIFE: Final = timedelta(days=3650)
LEAF_LIFE: Final = timedelta(days=730)
_BEHIND: Final = timedelta(hours=1)
"""A machine whose clock is behind by so much believes a new certificate."""

CA: Final = "ca.crt"
"""In every folder: the certificate by which the others are believed."""
CA_KEY: Final = "ca.key"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
_READABLE: Final = 0o644
"""Each image runs under another user, who must read the key; the folder is what keeps it from others."""


@dataclass(frozen=True, slots=True)
class _Role:
    """What a certificate says of its owner."""

    name: str
    hosts: tuple[str, ...]
    uses: tuple[x509.ObjectIdentifier, ...]


# Temporal shows the certificate of its server to itself, too: its processes call each other.
_SERVER: Final = _Role(
    "temporal", ("temporal", "localhost"), (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
)
_CLIENT: Final = _Role("perdure", (), (ExtendedKeyUsageOID.CLIENT_AUTH,))


@dataclass(frozen=True, slots=True)
class _Authority:
    """Who signs."""

    key: EllipticCurvePrivateKey
    certificate: x509.Certificate


def provide(authority: Path, server: Path, client: Path, now: datetime) -> list[Path]:
    """Make and renew what must be; the files that were written. Raises `Refused` and `OSError`."""
    written: list[Path] = []

    def write(path: Path, text: bytes, mode: int = _READABLE) -> None:
        durable.replace(path, text, mode)
        written.append(path)

    issuer = _authority(authority, now, write)
    for folder, role in ((server, _SERVER), (client, _CLIENT)):
        _leaf(folder, role, issuer, now, write)
    return written


def _authority(folder: Path, now: datetime, write: Callable[..., None]) -> _Authority:
    """The authority of this folder; its key is what makes it, so a renewed certificate is as good as the one before."""
    key = _read_key(folder / CA_KEY)
    if key is None:
        if (folder / CA_KEY).exists() or (folder / CA).exists():
            raise Refused(
                f"{folder / CA_KEY} is missing or damaged. Put it back; or remove all that is in {folder}, so that a "
                "new authority is made, and restart Temporal and all that call it."
            )
        key = generate_private_key(SECP256R1())
        write(folder / CA_KEY, _pem(key), 0o600)
    certificate = _read_certificate(folder / CA)
    if certificate is None or certificate.public_key() != key.public_key() or not _lasts(certificate, now):
        certificate = _authority_certificate(key, now)
        write(folder / CA, certificate.public_bytes(serialization.Encoding.PEM))
    return _Authority(key, certificate)


def _leaf(folder: Path, role: _Role, issuer: _Authority, now: datetime, write: Callable[..., None]) -> None:
    """Provide one owner's files.

    A renewed certificate keeps its key: one file changes, so that nobody who reads the files meanwhile gets two that do
    not belong together.
    """
    ca = issuer.certificate.public_bytes(serialization.Encoding.PEM)
    if not (folder / CA).exists() or (folder / CA).read_bytes() != ca:
        write(folder / CA, ca)
    key = _read_key(folder / KEY)
    if key is None:
        key = generate_private_key(SECP256R1())
        write(folder / KEY, _pem(key))
    certificate = _read_certificate(folder / CERTIFICATE)
    if certificate is None or not _fits(certificate, role, key, issuer) or not _lasts(certificate, now):
        certificate = _leaf_certificate(role, key, issuer, now)
        write(folder / CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))


def _lasts(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether it is good, and for more than a third of its life."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return begin <= now and (end - now) * 3 > end - begin


def _fits(certificate: x509.Certificate, role: _Role, key: EllipticCurvePrivateKey, issuer: _Authority) -> bool:
    """Whether it is this authority's, of this key, and says what it must."""
    try:
        certificate.verify_directly_issued_by(issuer.certificate)
        uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        hosts = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return certificate.public_key() == key.public_key() and (uses, hosts) == (_uses(role), _hosts(role))


def _authority_certificate(key: EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = _name("Perdure: authority of Temporal")
    builder = _builder(name, name, key, now, now + AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
    return builder.sign(key, hashes.SHA256())


def _leaf_certificate(role: _Role, key: EllipticCurvePrivateKey, issuer: _Authority, now: datetime) -> x509.Certificate:
    builder = _builder(_name(role.name), issuer.certificate.subject, key, now, now + LEAF_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(_uses(role), critical=False)
    builder = builder.add_extension(_hosts(role), critical=False)
    known_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
    return builder.add_extension(known_by, critical=False).sign(issuer.key, hashes.SHA256())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    number = x509.random_serial_number()
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), number, now - _BEHIND, end)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _uses(role: _Role) -> x509.ExtendedKeyUsage:
    return x509.ExtendedKeyUsage(role.uses)


def _hosts(role: _Role) -> x509.SubjectAlternativeName:
    # Of a caller, too: some libraries read no certificate without it.
    return x509.SubjectAlternativeName([x509.DNSName(host) for host in role.hosts or (role.name,)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _read_key(path: Path) -> EllipticCurvePrivateKey | None:
    """The key of this file; None if there is none, or one that cannot be read."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return key if isinstance(key, EllipticCurvePrivateKey) else None


def _read_certificate(path: Path) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def main(arguments: Sequence[str], now: datetime) -> int:
    """Entry point; the exit code."""
    if len(arguments) != len(("AUTHORITY", "SERVER", "CLIENT")):
        sys.stderr.write("usage: python -m pods.temporal_certificates AUTHORITY SERVER CLIENT\n")
        return 2
    try:
        authority, server, client = map(Path, arguments)
        written = provide(authority, server, client, now)
    except (PerdureError, OSError) as error:
        sys.stderr.write(f"temporal_certificates: {error}\n")
        return 1
    sys.stdout.write("".join(f"wrote {path}\n" for path in written) or "all certificates are good\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], datetime.now(UTC)))
