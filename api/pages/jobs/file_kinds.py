"""How the files of an archive are shown: by the ending of their names, never by what they say of themselves.

| kind | as a page of ours | its bytes |
|---|---|---|
| report | in a frame with an origin of its own | `text/html` in the sandbox of a report, nowhere else |
| picture | in an `img`, where no script runs | its own type, in a sandbox without scripts |
| other | as text with line numbers if it is UTF-8, else its size | `text/plain`, or to be saved |
"""

from enum import StrEnum
from typing import Final

SANDBOX: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""The policy of every file that is no report: nothing of it runs, and it fetches nothing."""

PICTURES: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "ico": "image/x-icon",
    "svg": "image/svg+xml",
}
PARTS: Final = {
    **PICTURES,
    "html": "text/html; charset=utf-8",
    "htm": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "json": "application/json",
    "map": "application/json",
    "txt": "text/plain; charset=utf-8",
    "md": "text/plain; charset=utf-8",
    "csv": "text/plain; charset=utf-8",
    "xml": "application/xml",
    "wasm": "application/wasm",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "ttf": "font/ttf",
    "otf": "font/otf",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mp3": "audio/mpeg",
}
"""What a report is made of, with the type of each; all else comes as bytes without meaning."""
BYTES: Final = "application/octet-stream"
TEXT: Final = "text/plain; charset=utf-8"
MAX_PICTURE: Final = 32 * 1024 * 1024
"""Bytes of a picture that is shown; a larger one is to be saved."""
MAX_REPORT: Final = 64 * 1024 * 1024
"""Bytes of a report that is shown."""


class Kind(StrEnum):
    """As what a file is shown."""

    REPORT = "report"
    PICTURE = "picture"
    OTHER = "other"


def ending(name: str) -> str:
    """What comes after the last dot of a file's name, in small letters; empty where there is none."""
    last = name.rpartition("/")[2]
    return last.rpartition(".")[2].lower() if "." in last else ""


def kind_of(name: str, size: int) -> Kind:
    """As what a file of this name and size (bytes) is shown."""
    end = ending(name)
    if end in {"html", "htm"} and size <= MAX_REPORT:
        return Kind.REPORT
    return Kind.PICTURE if end in PICTURES and size <= MAX_PICTURE else Kind.OTHER


def type_of_part(name: str) -> str:
    """The type with which a file comes as a part of a report."""
    return PARTS.get(ending(name), BYTES)


def is_page(name: str) -> bool:
    """Whether a file of a report is one of its pages, in which its scripts run."""
    return ending(name) in {"html", "htm"}
