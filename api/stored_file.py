"""A file of the store as a response: the whole of it or one range of its bytes."""

import re
from base64 import b64encode
from typing import Final, Protocol

from fastapi import Response

from api.v4.streaming import download
from storage.objects import ObjectStore, verified

_RANGE: Final = re.compile(r"\s*bytes\s*=\s*(?:(\d{1,15})\s*)?-\s*(?:(\d{1,15})\s*)?", re.ASCII)


class StoredRow(Protocol):
    """A row that speaks of a file in the store."""

    @property
    def object_key(self) -> str:
        """Where it is."""

    @property
    def filename(self) -> str:
        """What it is called."""

    @property
    def size(self) -> int:
        """How many bytes it has."""

    @property
    def sha256(self) -> str:
        """Of its bytes, in hex."""


class Unsatisfiable(Exception):
    """A range that begins behind the last byte."""


async def stored_file(store: ObjectStore, row: StoredRow, media_type: str, asked: str = "") -> Response:
    """The file that a row speaks of; `asked` is the header `Range`.

    A whole file is compared with its SHA-256: a damaged one is an error, or breaks off before its end, so that nobody
    takes it for whole. A range is not compared; whoever puts ranges together finds the SHA-256 of the whole file in
    `Repr-Digest` (RFC 9530).
    """
    try:
        span = byte_range(asked, row.size)
    except Unsatisfiable:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{row.size}"})
    if span is None:
        chunks = verified(store.read(row.object_key), row.sha256)
        response = await download(chunks, row.filename, row.size, media_type)
    else:
        first, end = span
        response = await download(store.read(row.object_key, first, end), row.filename, end - first, media_type)
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {first}-{end - 1}/{row.size}"
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Repr-Digest"] = f"sha-256=:{b64encode(bytes.fromhex(row.sha256)).decode()}:"
    return response


def byte_range(header: str, size: int) -> tuple[int, int] | None:
    """First byte and the one behind the last of the one range that is asked for; None for the whole.

    Several ranges, and what is no range, get the whole, as RFC 9110, section 14.2 permits. Raises `Unsatisfiable`.
    """
    match = _RANGE.fullmatch(header)
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        first, end = max(0, size - int(match[2])), size
    else:
        first, end = int(match[1]), min(size, int(match[2]) + 1 if match[2] else size)
        if match[2] and int(match[2]) < first:
            return None
    if first >= size:
        raise Unsatisfiable
    return first, end
