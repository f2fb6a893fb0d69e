"""What a request names, as it was sent: `%2F` in a path means something else than `/`."""

from starlette.types import Scope


def raw_path(scope: Scope) -> str:
    """The path without the query."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("latin-1")


def raw_query(scope: Scope) -> str:
    """The query without its `?`."""
    raw: bytes = scope["query_string"]
    return raw.decode("latin-1")


def target_of(path: str, query: str) -> str:
    """Both as the first line of a request has them (RFC 9112, "Request Target")."""
    return f"{path}?{query}" if query else path
