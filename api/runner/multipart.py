"""The one file of a multipart body, as a stream: never in memory, whatever its size."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from fastapi import Request
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from domain.errors import Invalid

_HEADER_LIMIT: Final = 8 * 1024
"""Bytes of one header of a part."""
_NAME_LIMIT: Final = 255
"""Characters of a file's name; what is longer is cut at its beginning."""
_FIELD_LIMIT: Final = 255
"""Bytes of a field beside the file; what is longer is nothing that we know."""
_MAX_FIELDS: Final = 10
_CUT: Final = "Bad request: the body ended before the file did."


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file on its way in.

    `fields` are those of the body beside it; the ones that stand behind the file are there when `content` has ended.
    """

    filename: str
    content: AsyncIterator[bytes]
    fields: Mapping[str, str]


class _Reader:
    """Collects what the parser says until somebody takes it."""

    def __init__(self, boundary: bytes) -> None:
        self.chunks: list[bytes] = []
        self.filename: str | None = None
        self.ended = False
        self.fields: dict[str, str] = {}
        self._name = ""
        self._text = b""
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
                "on_part_end": self._part_end,
                "on_end": self._end,
            },
        )

    def write(self, data: bytes) -> None:
        try:
            self._parser.write(data)
        except MultipartParseError as error:
            raise Invalid(f"Bad request: the body is no multipart/form-data ({error}).") from error

    def _part_begin(self) -> None:
        self._is_file = False
        self._name, self._text = "", b""

    def _part_end(self) -> None:
        if self._name and len(self._text) <= _FIELD_LIMIT and len(self.fields) < _MAX_FIELDS:
            self.fields[self._name] = self._text.decode("utf-8", "replace")

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]
        self._check_header()

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._check_header()

    def _check_header(self) -> None:
        if len(self._field) + len(self._value) > _HEADER_LIMIT:
            raise Invalid(f"Bad request: a header of the body has more than {_HEADER_LIMIT} bytes.")

    def _header_end(self) -> None:
        if self._field.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            if options.get(b"name") == b"file" and self.filename is None:
                raw = options.get(b"filename", b"").decode("utf-8", "replace")
                name = PurePosixPath(raw.replace("\\", "/")).name
                self.filename = "".join(filter(str.isprintable, name))[-_NAME_LIMIT:] or "artifacts.zip"
                self._is_file = True
            elif b"filename" not in options:
                self._name = options.get(b"name", b"")[:_FIELD_LIMIT].decode("utf-8", "replace")
        self._field = self._value = b""

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self.chunks.append(data[start:end])
        elif len(self._text) <= _FIELD_LIMIT:
            self._text += data[start:end]

    def _end(self) -> None:
        self.ended = True


async def file_part(request: Request) -> FilePart:
    """The part named `file`; reads only as far as its headers. Raises `Invalid`."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise Invalid("Bad request: the file must come as multipart/form-data in a part named file.")
    reader = _Reader(boundary)
    stream = request.stream()
    while reader.filename is None:
        chunk = await _next(stream)
        if chunk is None or reader.ended:
            raise Invalid("Bad request: the body has no part named file.")
        reader.write(chunk)
    return FilePart(reader.filename, _content(reader, stream), reader.fields)


async def _content(reader: _Reader, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    while True:
        chunks, reader.chunks = reader.chunks, []
        for chunk in chunks:
            yield chunk
        if reader.ended:
            return
        data = await _next(stream)
        if data is None:
            raise Invalid(_CUT)
        reader.write(data)


async def _next(stream: AsyncIterator[bytes]) -> bytes | None:
    """The next piece of a body; None at its end. Raises `Invalid` when the caller has gone."""
    try:
        return await anext(stream, None)
    except ClientDisconnect as error:
        raise Invalid(_CUT) from error
