"""User name and password of a call, as git and container tools send them."""

import base64

from fastapi import Request


def basic_credentials(request: Request) -> tuple[str, str]:
    """User name and password; empty where there are none, or none that can be read."""
    header = request.headers.get("authorization", "")
    if not header.lower().startswith("basic "):
        return "", ""
    try:
        username, _, password = base64.b64decode(header[6:]).decode().partition(":")
    except ValueError:  # no base64, no ASCII, or no UTF-8 in it
        return "", ""
    return username, password
