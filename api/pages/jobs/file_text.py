"""The beginning of a file as lines of text, as far as people read it in a browser."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from domain.diffs.visible_text import visible

MAX_BYTES: Final = 512 * 1024
"""So much of a file is read and shown; the rest is a download away."""
MAX_LINES: Final = 5_000
MAX_LINE: Final = 5_000
"""Characters of a line that are shown."""


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of a file; `is_cut` says that it has more, or longer ones."""

    lines: Sequence[str]
    is_cut: bool


async def text_of(chunks: AsyncIterator[bytes], size: int) -> Text | None:
    """The beginning of a file of `size` bytes; None for one that is no UTF-8 text. No more is read than is shown."""
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) >= MAX_BYTES:
            break
    is_whole = len(data) >= size and len(data) <= MAX_BYTES
    text = _decoded(bytes(data[:MAX_BYTES]), is_whole=is_whole)
    if text is None:
        return None
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    shown = [visible(line.removesuffix("\r")[:MAX_LINE]) for line in lines[:MAX_LINES]]
    is_cut = not is_whole or len(lines) > MAX_LINES or any(len(line) > MAX_LINE for line in lines[:MAX_LINES])
    return Text(shown, is_cut)


def _decoded(data: bytes, *, is_whole: bool) -> str | None:
    if b"\0" in data:
        return None
    # What is cut may end within a character, which has four bytes at most.
    for spare in range(1 if is_whole else 4):
        try:
            return data[: len(data) - spare].decode()
        except UnicodeDecodeError:
            continue
    return None
