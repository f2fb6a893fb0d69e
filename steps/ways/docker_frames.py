"""Takes the frames apart in which a Docker Engine sends both output streams of a process over one connection.

Source: docs/reference/steps.md, "Reaching a step runner".
"""

import struct
from collections.abc import Iterator
from typing import Final

STDOUT: Final = 1
STDERR: Final = 2
_HEADER: Final = struct.Struct(">BxxxI")
"""The stream, three bytes that mean nothing, and how many bytes follow."""
_STREAMS: Final = range(4)
"""Standard input, which never comes, output and error, and 3, in which the Engine tells of its own failures."""


class Frames:
    """Bytes of a connection, as they come."""

    def __init__(self) -> None:
        """Nothing has come."""
        self._header = b""
        self._stream = STDOUT
        self._left = 0

    def take(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """What is in them, and of which stream it is; a frame of which a part has come gives that part.

        Raises `ConnectionError` where these are no frames.
        """
        view = memoryview(data)
        while view:
            if self._left:
                piece, view = view[: self._left], view[self._left :]
                self._left -= len(piece)
                yield self._stream, bytes(piece)
                continue
            missing = _HEADER.size - len(self._header)
            self._header, view = self._header + bytes(view[:missing]), view[missing:]
            if len(self._header) == _HEADER.size:
                self._stream, self._left = _HEADER.unpack(self._header)
                if self._stream not in _STREAMS:
                    raise ConnectionError(f"no frames of two streams come: one begins with {self._header!r}")
                self._header = b""

    @property
    def is_between(self) -> bool:
        """Whether no frame has begun that has not ended."""
        return not self._header and not self._left
