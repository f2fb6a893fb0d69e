"""User name and password in an `Authorization` header, as git and container tools send them (RFC 7617)."""

import base64


def credentials_in(authorization: str) -> tuple[str, str]:
    """User name and password; empty where there are none, or none that can be read."""
    if not authorization.lower().startswith("basic "):
        return "", ""
    try:
        username, _, password = base64.b64decode(authorization[6:]).decode().partition(":")
    except ValueError:  # no base64, no ASCII, or no UTF-8 in it
        return "", ""
    return username, password
