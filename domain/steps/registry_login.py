"""Names and passwords for registries, as Docker keeps them. Source: docs/reference/steps.md, "Steps in images"."""

import base64
import binascii
import json
import re
from typing import Any, Final

from domain.errors import Invalid

_HUB: Final = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})
_HUB_ENTRY: Final = "index.docker.io"
_HELPER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def login_of(text: str, registry: str, what: str) -> tuple[str, str] | None:
    """User and password for `registry` (`host:port`) in a document like Docker's `config.json`; None without any.

    Raises `Invalid` that names the document (`what`) and shows nothing of it.
    """
    entries = _document(text, what).get("auths")
    if not isinstance(entries, dict):
        return None
    wanted = _HUB_ENTRY if registry in _HUB else registry
    for name, entry in entries.items():
        if _host(name) == wanted and isinstance(entry, dict) and (found := _of_entry(entry, name, what)):
            return found
    return None


def helper_of(text: str, registry: str) -> str:
    """The end of the name of the program that knows logins for a registry; nothing where the document names none.

    It is a plain word: it becomes part of a command.
    """
    document = _document(text, "")
    by_registry = document.get("credHelpers")
    wanted = _HUB_ENTRY if registry in _HUB else registry
    named = by_registry.get(wanted) if isinstance(by_registry, dict) else None
    name = named or document.get("credsStore")
    return name if isinstance(name, str) and _HELPER.fullmatch(name) else ""


def _document(text: str, what: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid(f"{what} is no JSON") from None
    return document if isinstance(document, dict) else {}


def _host(name: str) -> str:
    """An entry is named by a host, or, as old ones are, by an address."""
    host = name.partition("://")[2] or name
    return host.partition("/")[0]


def _of_entry(entry: dict[str, Any], name: str, what: str) -> tuple[str, str] | None:
    user, password, both = entry.get("username"), entry.get("password"), entry.get("auth")
    if isinstance(both, str) and both:
        try:
            user, colon, password = base64.b64decode(both, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            colon = ""
        if not colon:
            raise Invalid(f"{what}: `auth` of {_host(name)} is no `user:password` in Base64")
    return (user, password) if isinstance(user, str) and isinstance(password, str) and user else None
