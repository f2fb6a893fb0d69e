"""When the script of a job began, as its log says: looked for while the log is read for something else. Pure."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from domain.logs.lines import STAMP_LENGTH, joined
from domain.logs.sections import Mark
from domain.pipelines.job_phases import SCRIPT, moment_of

_NAME: Final = b":" + SCRIPT.encode()
_START: Final = b"section_start:"
_MARK: Final = re.compile(rb"(\d{1,12})" + _NAME + rb"(?:\[[^\]\r\n]{0,200}\])?[\r\n]")
_BEFORE: Final = len(_START) + 12
"""Bytes of a mark before its name, at most."""
_MAX_MARK: Final = _BEFORE + len(_NAME) + 203


class BeginSearch:
    """Reads a log piece by piece, however it is cut. The first mark counts: a script may write others."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self.found: datetime | None = None
        self._is_over = False
        self._rest = b""

    def look(self, part: bytes) -> None:
        """Read what comes next."""
        if self._is_over:
            return
        data = joined(self._rest + part)
        self._rest = data[-_MAX_MARK - STAMP_LENGTH - 1 :]
        place = data.find(_NAME)  # much faster than a pattern
        while place >= 0:
            start = data.rfind(_START, max(0, place - _BEFORE), place)
            mark = _MARK.match(data, start + len(_START)) if start >= 0 else None
            if mark is not None:
                self.found, self._is_over = moment_of(mark[1]), True
                return
            place = data.find(_NAME, place + 1)


def begin_in(marks: Iterable[Mark]) -> datetime | None:
    """The same by the sections that an index knows."""
    first = next((mark for mark in marks if mark.is_start and mark.name == SCRIPT), None)
    return None if first is None else moment_of(first.seconds)
