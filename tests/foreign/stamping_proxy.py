"""A runner whose lines are stamped on their way: a proxy makes its calls those of GitLab Runner 18.7.

The runner counts the bytes that it printed, the server those that it took; each is told its own.
"""

import re
import zlib
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from tests.stamping import Stamper

_TRACE: Final = re.compile(r"/api/v4/jobs/(\d+)/trace")
_JOB: Final = re.compile(r"/api/v4/jobs/(\d+)")


@dataclass
class _Log:
    """`printed` came of the runner, `stamped` is for the server; `places` are lengths of both that belong together."""

    printed: bytearray = field(default_factory=bytearray)
    stamped: bytearray = field(default_factory=bytearray)
    stamper: Stamper = field(default_factory=Stamper)
    places: dict[int, int] = field(default_factory=lambda: {0: 0})

    def take(self, start: int, data: bytes) -> None:
        """What the runner sends; what it sends again is known."""
        assert start <= len(self.printed), "the runner left something out"
        new = data[len(self.printed) - start :]
        self.printed += new
        self.stamped += self.stamper.write(new) + self.stamper.cut()
        self.places[len(self.printed)] = len(self.stamped)

    def printed_at(self, stamped: int) -> int:
        """How much of what was printed the server has."""
        return max(printed for printed, place in self.places.items() if place <= stamped)


class Stamping:
    """The logs of all jobs of a runner."""

    def __init__(self) -> None:
        """Nothing was printed yet."""
        self._logs: dict[int, _Log] = {}

    def sent(self, method: str, path: str, headers: MutableMapping[str, str], body: bytes) -> bytes:
        """The body of a call for the server; changes its headers."""
        if method == "PATCH" and (found := _TRACE.fullmatch(path)):
            log = self._logs.setdefault(int(found[1]), _Log())
            start = int(headers["Content-Range"].partition("-")[0])
            log.take(start, body)
            begin = log.places[start]
            headers["Content-Range"] = f"{begin}-{len(log.stamped) - 1}"
            return bytes(log.stamped[begin:])
        if method == "PUT" and (found := _JOB.fullmatch(path)) and int(found[1]) in self._logs:
            return _with_checksum(body, self._logs[int(found[1])])
        return body

    def answered(self, path: str, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers of a response for the runner."""
        found, told = _TRACE.fullmatch(path), dict(headers)
        if found and "Range" in told and int(found[1]) in self._logs:
            log = self._logs[int(found[1])]
            told["Range"] = f"0-{log.printed_at(int(told['Range'].partition('-')[2]))}"
        return told


def _with_checksum(body: bytes, log: _Log) -> bytes:
    document: dict[str, Any] = orjson.loads(body)
    output = document.get("output") or {}
    if output.get("bytesize") == len(log.printed):
        output |= {"bytesize": len(log.stamped), "checksum": f"crc32:{zlib.crc32(log.stamped):08x}"}
    if document.get("checksum"):
        document["checksum"] = f"crc32:{zlib.crc32(log.stamped):08x}"
    return orjson.dumps(document)
