"""Answers that stream bytes and must not break off after a good status line."""

from collections.abc import AsyncIterator
from urllib.parse import quote

from fastapi.responses import StreamingResponse


async def begun(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes, but the first chunk is already here: what fails at once still gets an error of its own."""
    first = await anext(chunks, None)

    async def rest() -> AsyncIterator[bytes]:
        if first is None:
            return
        yield first
        async for chunk in chunks:
            yield chunk

    return rest()


def disposition(filename: str) -> str:
    """`Content-Disposition` of a file that is to be saved, whatever its name."""
    plain = "".join(
        letter if letter.isascii() and letter.isprintable() and letter not in '"\\' else "_" for letter in filename
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


async def download(chunks: AsyncIterator[bytes], filename: str, size: int, media_type: str) -> StreamingResponse:
    """A file to be saved, never shown: whatever a job made must not run in the reader's browser."""
    headers = {
        "Content-Length": str(size),
        "Content-Disposition": disposition(filename),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return StreamingResponse(await begun(chunks), media_type=media_type, headers=headers)
