"""A commit's files as an archive, made while it is sent."""

import asyncio
import bz2
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from domain.errors import Unavailable
from git.command import start
from git.git_process import CHUNK
from git.names import checked_path, checked_sha
from git.repository import Repository

FORMATS: Final[Mapping[str, tuple[str, str]]] = {
    "tar.gz": ("tar.gz", "application/octet-stream"),
    "tgz": ("tar.gz", "application/octet-stream"),
    "gz": ("tar.gz", "application/octet-stream"),
    "tar.bz2": ("tar.bz2", "application/octet-stream"),
    "tbz": ("tar.bz2", "application/octet-stream"),
    "tbz2": ("tar.bz2", "application/octet-stream"),
    "tb2": ("tar.bz2", "application/octet-stream"),
    "bz2": ("tar.bz2", "application/octet-stream"),
    "tar": ("tar", "application/octet-stream"),
    "zip": ("zip", "application/octet-stream"),
}
"""GitLab's endings: how the archive is packed (also the ending of its name), and its media type."""


@dataclass(frozen=True, slots=True)
class ArchiveRequest:
    """What goes into an archive. `packing` is the first of a pair of `FORMATS`; all names begin with `prefix`.

    `path` is a file or folder, "" for everything; `excluded` are paths that are left out.
    """

    sha: str
    packing: str
    prefix: str
    path: str = ""
    excluded: Sequence[str] = ()


async def stream_archive(repository: Repository, wanted: ArchiveRequest) -> AsyncIterator[bytes]:
    """The archive in pieces. Raises `Unavailable` when git stops before its end, `Invalid` for a wrong path."""
    if wanted.packing != "tar.bz2":
        async for chunk in _archived(repository, wanted, wanted.packing):
            yield chunk
        return
    packing = bz2.BZ2Compressor()
    async for chunk in _archived(repository, wanted, "tar"):
        if packed := await asyncio.to_thread(packing.compress, chunk):
            yield packed
    yield packing.flush()


async def _archived(repository: Repository, wanted: ArchiveRequest, packing: str) -> AsyncIterator[bytes]:
    places = [f":(top,literal){checked_path(wanted.path)}"] if wanted.path else []
    places += [f":(top,exclude,literal){checked_path(path)}" for path in wanted.excluded]
    git = [f"--git-dir={repository.path}", "archive", f"--format={packing}", f"--prefix={wanted.prefix}/"]
    async with start([*git, checked_sha(wanted.sha), "--", *places]) as running:
        running.stdin.close()
        while chunk := await running.stdout.read(CHUNK):
            yield chunk
        if await running.wait():
            raise Unavailable(f"git could not pack {wanted.sha}: {running.err or 'no message'}")
