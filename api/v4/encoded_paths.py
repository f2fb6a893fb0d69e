"""Projects named by their full path in one segment: `/api/v4/projects/group%2Fname/pipelines`.

ASGI servers decode a path before it is routed, and the segment falls apart. This middleware routes such calls by their
raw path, in which `/` and `%` inside a segment stay encoded; `decoded` gives the text of such a segment.
"""

from typing import Final
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

PREFIXES: Final = (
    b"/api/v4/projects/",
    b"/api/v4/groups/",
    b"/api/v4/organizations/",
    b"/api/v4/namespaces/",
)
"""Only below these a segment may hold a path."""


class EncodedPaths:
    """Puts the path with its segments kept apart into the scope."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap the application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, with another path where the raw one has encoded characters."""
        raw: bytes = scope.get("raw_path") or b""
        if b"%" in raw and raw.startswith(PREFIXES):
            scope = {**scope, "path": segments_kept(raw)}
        await self._app(scope, receive, send)


def segments_kept(raw: bytes) -> str:
    """A decoded path in which only the `/` and `%` of its segments are still encoded."""
    segments = raw.decode("latin-1").split("/")
    return "/".join(unquote(segment).replace("%", "%25").replace("/", "%2F") for segment in segments)


def decoded(parameter: str) -> str:
    """The text of a path parameter that came through `EncodedPaths`."""
    return unquote(parameter)
