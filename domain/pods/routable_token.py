"""Tokens that name where they belong, in GitLab's routable form (docs/reference/reliability.md, "Tokens").

The payload names pod, organisation and what else a token is of, so that a router knows where to go; the checksum is
against typing errors, not for authenticity.

The random bytes come before the payload. Runners call themselves by the first characters of their token, and keep their
build folders, their logs and their record of healthy servers by that name. Tokens that we made with the payload first
all have the same one; they stay good, and are read as ever.
"""

import base64
import binascii
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

FIRST_CELL: Final = 1
"""What a token calls the pod with number 0."""
RANDOM_BYTES: Final = 16

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_MAX_PAYLOAD: Final = 159
_MAX_TOKEN: Final = 400
_FORM: Final = re.compile(r"(?P<text>(?P<front>[A-Za-z0-9_-]+)\.01\.(?P<length>[0-9a-z]{2}))(?P<checksum>[0-9a-z]{7})")
_LINE: Final = re.compile(r"(?P<key>[cgoptu]):(?P<value>0|[1-9a-z][0-9a-z]{0,12})")


@dataclass(frozen=True, slots=True)
class Route:
    """Where a token says that it belongs; good for routing only, for anybody can write it.

    `organisation_id` is 0 for what belongs to the whole pod, `runner_type` (its number) for what is no runner,
    `project_id`, `group_id` and `user_id` for a token that is of none.
    """

    pod_number: int
    organisation_id: int = 0
    runner_type: int = 0
    project_id: int = 0
    group_id: int = 0
    user_id: int = 0


def spelled(prefix: str, route: Route, random: bytes) -> str:
    """The token with this route of ids, and RANDOM_BYTES of chance."""
    payload = "\n".join(f"{key}:{base36(value)}" for key, value in _fields(route).items()).encode()
    encoded = base64.urlsafe_b64encode(random + payload + bytes([len(random)])).rstrip(b"=").decode()
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
    if not content.endswith(bytes([RANDOM_BYTES])):
        return None
    return _route_in(content[RANDOM_BYTES:-1]) or _route_in(content[: -RANDOM_BYTES - 1])


def _fields(route: Route) -> Mapping[str, int]:
    """`c` cell, `g` group, `o` organisation, `p` project, `t` runner type, `u` user, in this order.

    `c` and `o` are always there.
    """
    named = {"g": route.group_id, "p": route.project_id, "t": route.runner_type, "u": route.user_id}
    fields = {"c": route.pod_number + FIRST_CELL, "o": route.organisation_id}
    return dict(sorted({**fields, **{key: value for key, value in named.items() if value}}.items()))


def _route_in(payload: bytes) -> Route | None:
    """The route that some bytes spell out; that random ones do so happens once in 10^13 tokens."""
    if len(payload) > _MAX_PAYLOAD or not payload.isascii():
        return None
    lines = [_LINE.fullmatch(line) for line in payload.decode("ascii").split("\n")]
    found = {line["key"]: int(line["value"], 36) for line in lines if line is not None}
    if len(found) != len(lines) or list(found) != sorted(found) or not found.get("c"):
        return None
    return Route(
        found["c"] - FIRST_CELL,
        found.get("o", 0),
        found.get("t", 0),
        project_id=found.get("p", 0),
        group_id=found.get("g", 0),
        user_id=found.get("u", 0),
    )


def _checksum(text: str) -> str:
    return base36(zlib.crc32(text.encode()), 7)


def base36(value: int, width: int = 1) -> str:
    """A number in base 36, padded with zeros on the left."""
    digits = ""
    while value:
        value, rest = divmod(value, 36)
        digits = _DIGITS[rest] + digits
    return digits.rjust(width, "0")
