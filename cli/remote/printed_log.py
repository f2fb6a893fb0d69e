"""What of a log was printed already, so that nothing is printed twice, also when the runner sends all of it anew."""

import hashlib
from dataclasses import dataclass, field
from typing import Any


class Differs(Exception):
    """The log that is sent anew is another one than what was printed."""


@dataclass
class PrintedLog:
    """The bytes up to `offset` are printed, or were left out on purpose up to `begin`."""

    begin: int = 0
    offset: int = 0
    _hash: Any = field(default_factory=hashlib.sha256)
    _again: Any = None
    """While the beginning comes once more: the hash of what came so far."""

    @classmethod
    def starting_at(cls, begin: int) -> "PrintedLog":
        """What is before `begin` shall not be printed at all."""
        return cls(begin, begin)

    @property
    def complete(self) -> bool:
        """Whether no byte is being compared."""
        return self._again is None

    def reset(self) -> None:
        """The log comes from its beginning."""
        self._again = hashlib.sha256() if self.offset else None

    def feed(self, offset: int, text: str, end: int) -> str:
        """What is new in a piece of the bytes from `offset` up to `end`. Raises `Differs`.

        Bytes that are no UTF-8 were replaced in the text, so it may have another length than what it stands for.
        """
        if self._again is None:
            return self._print(text, end)
        raw = text.encode()
        if end > self.offset and len(raw) != end - offset:
            raise Differs
        old = raw if end <= self.offset else raw[: max(0, self.offset - offset)]
        self._again.update(old[max(0, self.begin - offset) :])
        if end < self.offset:
            return ""
        if self._again.digest() != self._hash.digest():
            raise Differs
        self._again = None
        return self._print(raw[len(old) :].decode("utf-8", "replace"), end)

    def _print(self, text: str, end: int) -> str:
        self._hash.update(text.encode())
        self.offset = end
        return text
