"""The one file of a multipart body, as a stream: never in memory, whatever its size."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from fastapi import Request
from python_multipart.multipart import MultipartParser, parse_options_header

from domain.errors import Invalid


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file on its way in."""

    filename: str
    content: AsyncIterator[bytes]


class _Reader:
    """Collects what the parser says until somebody takes it."""

    def __init__(self, boundary: bytes) -> None:
        self.chunks: list[bytes] = []
        self.filename: str | None = None
        self.ended = False
        self._field = b""
        self._value = b""
        self._is_file = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_part_data": self._data,
                "on_end": self._end,
            },
        )

    def write(self, data: bytes) -> None:
        self._parser.write(data)

    def _part_begin(self) -> None:
        self._is_file = False

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._field.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            if options.get(b"name") == b"file" and self.filename is None:
                raw = options.get(b"filename", b"").decode("utf-8", "replace")
                self.filename = PurePosixPath(raw.replace("\\", "/")).name or "artifacts.zip"
                self._is_file = True
        self._field = self._value = b""

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self.chunks.append(data[start:end])

    def _end(self) -> None:
        self.ended = True


async def file_part(request: Request) -> FilePart:
    """The part named `file`; reads only as far as its headers. Raises `Invalid`."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise Invalid("400 Bad request: the file must come as multipart/form-data in a part named file.")
    reader = _Reader(boundary)
    stream = request.stream()
    while reader.filename is None:
        chunk = await anext(stream, None)
        if chunk is None or reader.ended:
            raise Invalid("400 Bad request: the body has no part named file.")
        reader.write(chunk)
    return FilePart(reader.filename, _content(reader, stream))


async def _content(reader: _Reader, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    while True:
        chunks, reader.chunks = reader.chunks, []
        for chunk in chunks:
            yield chunk
        if reader.ended:
            return
        data = await anext(stream, None)
        if data is None:
            raise Invalid("400 Bad request: the body ended before the file did.")
        reader.write(data)
