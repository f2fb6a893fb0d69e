"""Lines of the logs of all processes: `2026-11-29T05:45:19.592072Z WARNING what has happened`.

A log that cannot be written, since the disk is full or its reader is gone, never ends what the process does: the line
is kept in the stream's buffer, and comes with the first one that can be written again.
"""

import contextlib
import logging
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any, Final, TextIO

OWN_KEYS: Final = frozenset({"timestamp", "level", "event", "exception"})
"""What an event has beside its values."""


class LogStream:
    """Standard error, or another stream, that swallows what the disk does not take."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Without a stream it is what standard error is when a line is written."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or try to."""
        with contextlib.suppress(OSError):
            (self._stream or sys.stderr).write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or try to."""
        with contextlib.suppress(OSError):
            (self._stream or sys.stderr).flush()


class LineFormatter(logging.Formatter):
    """The form of a line of the standard library's loggers."""

    def __init__(self) -> None:
        """Level and message follow the time."""
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802, ARG002
        """The time in UTC."""
        return shown_time(datetime.fromtimestamp(record.created, UTC))


def shown_time(moment: datetime) -> str:
    """A moment as all lines have it."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def configure_lines(level: str) -> None:
    """Write what the standard library's loggers say from this level on to standard error."""
    logging.raiseExceptions = False
    handler = logging.StreamHandler(LogStream())
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=level, handlers=[handler])


def render_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    """The line of an event of structlog, its values behind it; a trace follows on lines of its own."""
    values = [f"{name}={_shown(value)}" for name, value in event.items() if name not in OWN_KEYS]
    line = " ".join([str(event["timestamp"]), str(event["level"]).upper(), str(event["event"]), *values])
    return f"{line}\n{event['exception']}" if event.get("exception") else line


def _shown(value: object) -> str:
    text = str(value)
    return text if text and not any(sign.isspace() or sign == '"' for sign in text) else repr(text)
