"""An upload to S3 in parts that becomes an object only when it is complete."""

from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from storage.store_errors import writing

PART: Final = 8 * 1024 * 1024
"""Bytes of one part; S3 wants 5 MiB at least and 10,000 parts at most, so an object may have 80 GB."""
MAX_CONCURRENT_PARTS: Final = 2
"""Parts on their way at a time; memory of one upload is this and one more part."""


class S3Upload:
    """Use as `async with S3Upload(...) as upload: await upload.write(...)`.

    Leaving the block normally completes the object, leaving it with an error aborts the upload, so that S3 keeps no
    part. Small objects go up in one call.
    """

    def __init__(self, store: S3Store, key: str) -> None:
        """Name the object."""
        self._key = key
        self._writer = obstore.open_writer_async(store, key, buffer_size=PART, max_concurrency=MAX_CONCURRENT_PARTS)

    async def __aenter__(self) -> Self:
        """Nothing goes out before the first part is full."""
        await self._writer.__aenter__()
        return self

    async def write(self, chunk: bytes) -> None:
        """Append; waits while enough parts are on their way."""
        with writing(self._key):
            await self._writer.write(chunk)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Complete or abort."""
        if error is None:
            with writing(self._key):
                await self._writer.__aexit__(None, None, None)
            return
        # The first error is the one to tell; S3's own rule for unfinished uploads removes what an abort cannot.
        with suppress(BaseError, OSError):
            await self._writer.__aexit__(kind, error, trace)
