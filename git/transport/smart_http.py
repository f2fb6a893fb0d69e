"""The transport of git's smart HTTP, stateless, without any web framework: bytes in, bytes out, bounded memory.

Source of the rules: git's gitprotocol-http(5) and gitprotocol-v2(5). What the web side adds: routes, rights, headers
(`Content-Type: application/x-<service>-advertisement` or `-result`, `Cache-Control: no-cache`).
"""

import asyncio
import logging
import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from domain.errors import Invalid, TooLarge, Unavailable
from domain.size_limits import SizeLimit, fixed
from git.command import start
from git.git_process import CHUNK, GitProcess
from git.repository import Repository
from git.transport.pkt_line import FLUSH, packet

_PROTOCOL: Final = re.compile(r"(?:^|:)version=([012])(?:$|:)")
RATIO_LIMIT: Final = 100
"""A gzip body may grow by this factor; negotiations shrink by 3 at most, so more is an attack."""
RATIO_FREE: Final = 1024 * 1024
"""Bytes that a gzip body may grow to whatever its ratio."""
_log: Final = logging.getLogger(__name__)


class Service(StrEnum):
    """The two git programs that answer; the values are what stands in the URL."""

    UPLOAD_PACK = "git-upload-pack"
    """Serves fetch and clone."""
    RECEIVE_PACK = "git-receive-pack"
    """Takes pushes."""


FETCH_LIMIT: Final = fixed("fetches", 32 * 1024 * 1024, "Fetch fewer refs at a time.")
"""git keeps every want and have in memory; these are some 600,000 of them."""
_STREAMED: Final = ("-c", "core.bigFileThreshold=16m")
"""A larger file of a pushed pack is never whole in memory, however small it is packed."""


def protocol_version(header: str | None) -> int:
    """The version that a `Git-Protocol` header asks for; 0 for none, an unknown one or nonsense."""
    found = _PROTOCOL.search(header or "")
    return int(found.group(1)) if found else 0


async def advertise(repository: Repository, service: Service, version: int = 0) -> AsyncIterator[bytes]:
    """The answer to `GET info/refs?service=...`: refs, or with version 2 the capabilities, as a stream."""
    if service is Service.RECEIVE_PACK or version != 2:
        yield packet(f"# service={service}\n".encode()) + FLUSH
    arguments: list[str | Path] = [
        service.removeprefix("git-"),
        "--stateless-rpc",
        "--http-backend-info-refs",
        repository.path,
    ]
    async with start(arguments, _environment(version)) as git:
        git.stdin.close()
        async for chunk in _output(git, service):
            yield chunk


async def serve(
    repository: Repository,
    service: Service,
    body: AsyncIterator[bytes],
    version: int = 0,
    environment: Mapping[str, str] | None = None,
    limit: SizeLimit | None = None,
) -> AsyncGenerator[bytes]:
    """The answer to `POST git-upload-pack` or `git-receive-pack`: streams `body` in and yields what git says.

    `limit` says how large a push may be, unpacked from gzip: TooLarge beyond it, and none of it stays. Closing the
    generator ends git. An error of `body` ends git too and is raised here; so is git's own failure, with its stderr,
    when it gave no answer: Invalid when it refused what was sent, Unavailable when something ended it.
    """
    most = FETCH_LIMIT if service is Service.UPLOAD_PACK else limit
    body = body if most is None else _limited(body, service, most)
    arguments: list[str | Path] = [*_STREAMED, service.removeprefix("git-"), "--stateless-rpc", repository.path]
    async with start(arguments, {**_environment(version), **(environment or {})}) as git:
        feeding = asyncio.create_task(_feed(git, body))
        try:
            async for chunk in _output(git, service, feeding):
                yield chunk
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)


async def _feed(git: GitProcess, body: AsyncIterator[bytes]) -> None:
    try:
        await git.feed(body)
    except Exception:
        # A closed stdin would make a cut body look like a whole one.
        git.terminate()
        raise


async def _output(git: GitProcess, service: Service, feeding: asyncio.Task[None] | None = None) -> AsyncIterator[bytes]:
    answered = False
    while chunk := await git.stdout.read(CHUNK):
        answered = True
        yield chunk
    code = await git.wait()
    if feeding is not None and feeding.done():
        feeding.result()
    if code < 0:
        raise Unavailable(f"{service} was ended by signal {-code}: {git.err or 'no message'}")
    if code > 0 and not answered:
        raise Invalid(f"{service} refused the request: {git.err or f'exit code {code}'}")
    if code > 0:
        # The client has been told in band; failing its stream now would hide that.
        _log.warning("%s ended with %d: %s", service, code, git.err)


def _environment(version: int) -> dict[str, str]:
    return {"GIT_PROTOCOL": f"version={version}"} if version else {}


async def _limited(body: AsyncIterator[bytes], service: Service, limit: SizeLimit) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in body:
        size += len(chunk)
        if size > limit.size:
            raise TooLarge(limit.exceeded(f"the request to {service}"))
        yield chunk


async def gunzip(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Unpack a `Content-Encoding: gzip` body as it comes, at most `CHUNK` bytes at a time.

    Raises Invalid for broken or cut data, TooLarge when it grows more than `RATIO_LIMIT` times.
    """
    unpacking = zlib.decompressobj(wbits=31)
    taken = given = 0
    async for packed in body:
        taken += len(packed)
        rest = packed
        while rest and not unpacking.eof:
            try:
                chunk = unpacking.decompress(rest, CHUNK)
            except zlib.error as error:
                raise Invalid(f"The gzip body is broken: {error}") from error
            rest = unpacking.unconsumed_tail
            given += len(chunk)
            if given > max(RATIO_FREE, taken * RATIO_LIMIT):
                raise TooLarge(f"The gzip body grows more than {RATIO_LIMIT} times; send it unpacked.")
            if chunk:
                yield chunk
    if not unpacking.eof:
        raise Invalid("The gzip body is cut; send the request again.")
