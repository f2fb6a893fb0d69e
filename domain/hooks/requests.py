"""The request that carries an event to a webhook: its address, its headers, its signature.

Sources: GitLab's webhook documentation (delivery headers, signing tokens) and the Standard Webhooks specification.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from domain.errors import Invalid, Unprocessable
from domain.hooks.webhooks import signing_key

REDACTED: Final = "[REDACTED]"
NOT_IN_HEADERS: Final = "is invalid: it goes into a header, so take printable ASCII characters."
AGENT: Final = "perdure"

_VARIABLE: Final = re.compile(r"\{([A-Za-z][A-Za-z0-9_.-]*)\}")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,253}[A-Za-z0-9])?")
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,254}")
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "trailer"})
_MAX_VALUE: Final = 2048
_NO_VALUE: Final = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What only the receiver knows besides us, opened for one request."""

    token: str = ""
    signing_token: str = ""
    custom_headers: Mapping[str, str] = field(default_factory=dict)
    url_variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parcel:
    """What identifies a delivery: `uuid` is the same at each attempt, `event_uuid` for all hooks that hear of it.

    `title` names the kind of event (`domain.hooks.webhooks.title_of`).
    """

    title: str
    uuid: str
    event_uuid: str
    hook_uuid: str
    instance: str


def headers_of(parcel: Parcel, secrets: Secrets, body: bytes, now: datetime) -> dict[str, str]:
    """The headers of a request."""
    headers = {
        **secrets.custom_headers,
        "Content-Type": "application/json",
        "User-Agent": AGENT,
        "Idempotency-Key": parcel.uuid,
        "X-Gitlab-Event": parcel.title,
        "X-Gitlab-Event-UUID": parcel.event_uuid,
        "X-Gitlab-Webhook-UUID": parcel.hook_uuid,
        "X-Gitlab-Instance": parcel.instance,
    }
    if secrets.token:
        headers["X-Gitlab-Token"] = secrets.token
    if secrets.signing_token:
        stamp = str(int(now.timestamp()))
        headers |= {
            "webhook-id": parcel.uuid,
            "webhook-timestamp": stamp,
            "webhook-signature": signature(secrets.signing_token, parcel.uuid, stamp, body),
        }
    return headers


def signature(signing_token: str, uuid: str, stamp: str, body: bytes) -> str:
    """`v1,` and the HMAC-SHA256 of id, unix seconds and body, with dots between. Raises `Invalid`."""
    signed = f"{uuid}.{stamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(signing_key(signing_token), signed, hashlib.sha256)).decode()


def shown_headers(headers: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """The headers as the log keeps them: without what is secret."""
    hidden = {"X-Gitlab-Token", *secrets.custom_headers}
    return {name: REDACTED if name in hidden else value for name, value in headers.items()}


def address_of(url: str, variables: Mapping[str, str]) -> str:
    """The address with its variables (`{name}`) filled in. Raises `Invalid` for one that has no value."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            raise Unprocessable(
                f"Invalid url given: it names the variable {{{found[1]}}}, which is not set; give it in url_variables."
            )
        return variables[found[1]]

    return _VARIABLE.sub(value, url)


def check_header(name: str, value: str) -> None:
    """Raise `Invalid` for a header that cannot be sent, or that is the connection's business."""
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _OURS:
        raise Unprocessable(
            f"Custom headers validation failed: {name[:100]!r} cannot be used; "
            f"take letters, digits, - and _, and no {_NAMES}."
        )
    if not value or len(value) > _MAX_VALUE or _NO_VALUE.search(value):
        raise Unprocessable(
            f"Custom headers validation failed: the value of {name} must have 1 to {_MAX_VALUE} printable characters."
        )


_NAMES: Final = ", ".join(sorted(_OURS))


def check_variable(name: str, value: str) -> None:
    """Raise `Invalid` for a variable of an address that cannot be used."""
    if not _KEY.fullmatch(name):
        raise Invalid(f"url_variables: {name[:100]!r} is no name; begin with a letter, go on with letters, digits, _.-")
    if not value or len(value) > _MAX_VALUE or _NO_VALUE.search(value):
        raise Invalid(f"url_variables: the value of {name} must have 1 to {_MAX_VALUE} printable characters.")
