"""Server-sent events, read from the bytes of an answer (WHATWG HTML, section 9.2)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `kind` is empty for a comment, which only shows that the connection lives."""

    kind: str
    data: str = ""
    id: str = ""


def events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """The events of a stream; one that is cut off at its end does not count."""
    fields: dict[str, str] = {}
    for line in _lines(chunks):
        if line.startswith(":"):
            yield Event("")
        elif line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
        else:
            if "data" in fields:
                yield Event(fields.get("event", "message"), fields["data"], fields.get("id", ""))
            fields = {}


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Lines end with a newline only: JSON may hold every other character that Python takes for the end of a line."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode("utf-8", "replace").removesuffix("\r") for line in lines)
