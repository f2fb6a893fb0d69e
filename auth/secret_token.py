"""Random tokens of people and runners; only their SHA-256 is ever stored.

Runner tokens have GitLab's routable form (docs/reference/reliability.md, "Tokens"): the payload names pod and
organisation, so that a router knows where to go; the checksum is against typing errors, not for authenticity.

The random bytes come before the payload. Runners call themselves by the first characters of their token, and keep their
build folders, their logs and their record of healthy servers by that name. Tokens that we made with the payload first
all have the same one; they stay good, and are read as ever.
"""

import base64
import binascii
import hashlib
import re
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from domain.errors import Invalid

PERSONAL: Final = "glpat-"
RUNNER: Final = "glrt-"
RUNNER_BY_REGISTRATION: Final = "glrtr-"
REGISTRATION: Final = "GR1348941"
TRIGGER: Final = "glptt-"
DEPLOY: Final = "gldt-"

PAYLOAD_FIRST: Final = 0
RANDOM_FIRST: Final = 1
"""Forms of a routable token: as they were made once, and as they are made now."""

FIRST_CELL: Final = 1
"""What a token calls the pod with number 0."""

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_RANDOM_BYTES: Final = 16
_MAX_PAYLOAD: Final = 159
_MAX_TOKEN: Final = 400
_FORM: Final = re.compile(r"(?P<text>(?P<front>[A-Za-z0-9_-]+)\.01\.(?P<length>[0-9a-z]{2}))(?P<checksum>[0-9a-z]{7})")
_LINE: Final = re.compile(r"(?P<key>[cgoptu]):(?P<value>0|[1-9a-z][0-9a-z]{0,12})")


@dataclass(frozen=True, slots=True)
class Route:
    """Where a token says that it belongs; good for routing only, for anybody can write it.

    `organisation_id` is 0 for what belongs to the whole pod, `runner_type` (its number) for what is no runner.
    """

    pod_number: int
    organisation_id: int = 0
    runner_type: int = 0


def digest(token: str) -> str:
    """What the database keeps of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def plain_token(prefix: str) -> str:
    """A token that carries nothing but 160 random bits."""
    return prefix + secrets.token_urlsafe(20)


def routable_token(prefix: str, route: Mapping[str, int], random: bytes | None = None) -> str:
    """A token that names where it belongs: `c` cell, `o` organisation, `p` project, `u` user, `t` runner type.

    Raises `Invalid` for a route that does not fit into the form.
    """
    payload = "\n".join(f"{key}:{base36(value)}" for key, value in sorted(route.items())).encode()
    if len(payload) > _MAX_PAYLOAD:
        raise Invalid(f"A token's route has {len(payload)} bytes, {_MAX_PAYLOAD} at most; name less in it.")
    noise = secrets.token_bytes(_RANDOM_BYTES) if random is None else random
    encoded = base64.urlsafe_b64encode(noise + payload + bytes([len(noise)])).rstrip(b"=").decode()
    text = f"{prefix}{encoded}.01.{base36(len(encoded), 2)}"
    return text + _checksum(text)


def read_route(token: str) -> Route | None:
    """Where a routable token belongs; None for one that is none, or was mistyped."""
    form = _FORM.fullmatch(token) if len(token) <= _MAX_TOKEN else None
    if form is None or form["checksum"] != _checksum(form["text"]):
        return None
    try:
        encoded = form["front"][-int(form["length"], 36) :]
        content = base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True)
    except binascii.Error:
        return None
    if not content.endswith(bytes([_RANDOM_BYTES])):
        return None
    return _route_in(content[_RANDOM_BYTES:-1]) or _route_in(content[: -_RANDOM_BYTES - 1])


def _route_in(payload: bytes) -> Route | None:
    """The route that some bytes spell out; that random ones do so happens once in 10^13 tokens."""
    if len(payload) > _MAX_PAYLOAD or not payload.isascii():
        return None
    lines = [_LINE.fullmatch(line) for line in payload.decode("ascii").split("\n")]
    route = {line["key"]: int(line["value"], 36) for line in lines if line is not None}
    if len(route) != len(lines) or list(route) != sorted(route) or not route.get("c"):
        return None
    return Route(route["c"] - FIRST_CELL, route.get("o", 0), route.get("t", 0))


def _checksum(text: str) -> str:
    return base36(zlib.crc32(text.encode()), 7)


def base36(value: int, width: int = 1) -> str:
    """A number in base 36, padded with zeros on the left."""
    digits = ""
    while value:
        value, rest = divmod(value, 36)
        digits = _DIGITS[rest] + digits
    return digits.rjust(width, "0")
