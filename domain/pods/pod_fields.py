"""What a directory takes as the fields of a pod, and what is wrong with others."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from domain.errors import Invalid

MAX_WEIGHT: Final = 1_000_000
MAX_ADDRESS: Final = 2_048
MAX_KEYS: Final = 64
MAX_KEYS_BYTES: Final = 48 * 1024

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_HOST: Final = re.compile(r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+")
_PORTS: Final = range(1, 65_536)
_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""Members of a JSON web key that only its owner may know (RFC 7518, section 6)."""
_TEXTS: Final = ("kty", "kid", "alg")


def checked_name(name: str) -> str:
    """The same name. Raises `Invalid`."""
    if _NAME.fullmatch(name) is None:
        raise Invalid(
            f"name: {name!r} cannot be the name of a pod. It stands in what the pod signs: use 1 to 63 letters, "
            "digits, '_', '-' and '.', beginning with a letter or digit."
        )
    return name


def addresses_in(address: str) -> tuple[tuple[str, int], ...]:
    """Host and port of each API of a pod; none for an empty text. Raises `Invalid`."""
    parts = [part.strip() for part in address.split(",") if part.strip()]
    return tuple(_host_and_port(part) for part in parts)


def checked_address(address: str) -> str:
    """The same address. Raises `Invalid`."""
    if len(address) > MAX_ADDRESS:
        raise Invalid(f"address: has {len(address)} characters, {MAX_ADDRESS} at most.")
    addresses_in(address)
    return address


def checked_weight(weight: int) -> int:
    """The same weight. Raises `Invalid`."""
    if not 0 <= weight <= MAX_WEIGHT:
        raise Invalid(f"weight: is {weight}; it is a whole number from 0 to {MAX_WEIGHT}.")
    return weight


def keys_in(where: str, document: object) -> tuple[Mapping[str, Any], ...]:
    """The public keys of a JWK Set, other members of which are passed over (RFC 7517, section 5).

    Raises `Invalid`, also for a key with a private half.
    """
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise Invalid(f"{where}: must be a JWK Set, an object with the list keys.")
    if len(keys) > MAX_KEYS or len(json.dumps(keys)) > MAX_KEYS_BYTES:
        raise Invalid(f"{where}: there are {MAX_KEYS} keys and {MAX_KEYS_BYTES} bytes at most.")
    for place, key in enumerate(keys):
        if not isinstance(key, dict) or not all(isinstance(key.get(name), str) and key[name] for name in _TEXTS):
            raise Invalid(f"{where}.keys[{place}]: must be a JSON web key with {', '.join(_TEXTS)}.")
        if private := sorted(_PRIVATE & key.keys()):
            raise Invalid(
                f"{where}.keys[{place}]: has {', '.join(private)}, which only the owner of a key may know. Send the "
                "public half, and make a new key in its place."
            )
    return tuple(keys)


def _host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) in _PORTS
    if _HOST.fullmatch(host) is None or not is_port:
        raise Invalid(f"address: {text!r} is not host:port, as 10.0.0.5:8930; several have commas between them.")
    return host.strip("[]"), int(port)
