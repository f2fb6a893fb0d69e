"""Whoever makes tokens: with our own keys, to see that a right signature is not enough, or with keys of their own."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as new_ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as new_rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from auth.job_token import PREFIX
from tests.security.cast import Cast

LEFT_OUT: Final = object()
"""Stands for a claim or a header that is not there."""


def b64(content: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """The bytes of base64url."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Forger:
    """Knows the victim's token and, where it shall, our keys."""

    def __init__(self, cast: Cast) -> None:
        """Look at what there is."""
        self.cast = cast
        self.token: str = cast.victim["token"]
        self.head, self.body, self.signature = self.token.removeprefix(PREFIX).split(".")
        self.header: dict[str, Any] = json.loads(unb64(self.head))
        self.claims: dict[str, Any] = json.loads(unb64(self.body))
        services = cast.site.services
        self.ours = services.key.signer()
        self.identity = services.identity_keys.signer()
        self.own = Ed25519PrivateKey.generate()
        self.own_rsa = new_rsa(65537, 2048)
        self.own_ec = new_ec(SECP256R1())

    def signed(
        self, header: dict[str, Any] | None = None, claims: dict[str, Any] | None = None, key: Any = None
    ) -> str:
        """A token with changes, signed with our own key, or with another one."""
        return self.raw(self._changed(self.header, header), self._changed(self.claims, claims), key)

    def raw(self, header: Any, claims: Any, key: Any = None) -> str:
        """A token of these documents."""
        return self.of_bytes(json.dumps(header).encode(), json.dumps(claims).encode(), key)

    def of_bytes(self, header: bytes, claims: bytes, key: Any = None) -> str:
        """A token of these texts."""
        text = f"{b64(header)}.{b64(claims)}"
        return f"{PREFIX}{text}.{b64(self.sign(text.encode(), key or self.ours.private))}"

    def joined(self, head: str = "", body: str = "", signature: str | None = None) -> str:
        """The victim's token with parts replaced."""
        last = self.signature if signature is None else signature
        return f"{PREFIX}{head or self.head}.{body or self.body}.{last}"

    def altered(self, **claims: Any) -> str:
        """The victim's token with other claims below the same signature."""
        return self.joined(body=b64(json.dumps(self._changed(self.claims, claims)).encode()))

    def public(self, form: str) -> bytes:
        """Our public key as bytes that one might take for a shared secret."""
        public = self.ours.public
        if form == "pem":
            return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        if form == "der":
            return public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return public.public_bytes(Encoding.Raw, PublicFormat.Raw)

    def shared_secret(self, algorithm: str, secret: bytes) -> str:
        """A token whose HMAC was made with `secret`."""
        digest = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}[algorithm]
        text = f"{b64(json.dumps({**self.header, 'alg': algorithm}).encode())}.{self.body}"
        return f"{PREFIX}{text}.{b64(hmac.digest(secret, text.encode(), digest))}"

    @staticmethod
    def sign(content: bytes, key: Any) -> bytes:
        """A signature of the kind that belongs to the key."""
        if isinstance(key, RSAPrivateKey):
            return key.sign(content, PKCS1v15(), SHA256())
        if isinstance(key, EllipticCurvePrivateKey):
            return key.sign(content, ECDSA(SHA256()))
        signature: bytes = key.sign(content)
        return signature

    @staticmethod
    def _changed(document: dict[str, Any], changes: dict[str, Any] | None) -> dict[str, Any]:
        return {name: value for name, value in {**document, **(changes or {})}.items() if value is not LEFT_OUT}


Forgery = Callable[[Forger], str]
"""Makes one token for a victim."""
