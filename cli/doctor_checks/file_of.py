"""Where the file is that an address of the settings means."""

from pathlib import Path
from urllib.parse import unquote, urlsplit


def file_of(url: str) -> Path | None:
    """The path of `sqlite:///...` and `file:///...`; None for a server."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(unquote(parts.path[1:])) if parts.scheme.startswith("sqlite") else None
