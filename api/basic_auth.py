"""User name and password of a call, as git and container tools send them."""

from fastapi import Request

from domain.basic_credentials import credentials_in


def basic_credentials(request: Request) -> tuple[str, str]:
    """User name and password; empty where there are none, or none that can be read."""
    return credentials_in(request.headers.get("authorization", ""))
