"""Contents of files by the id of their blob, whole or as a stream."""

from collections.abc import AsyncIterator

from domain.errors import TooLarge, Unavailable
from git.command import run, start
from git.git_process import CHUNK
from git.names import is_sha
from git.repository import Repository


async def blob_size(repository: Repository, sha: str) -> int | None:
    """Bytes of a blob; None when the repository has no blob of that id."""
    if not is_sha(sha):
        return None
    form = "--batch-check=%(objecttype) %(objectsize)"
    answer = await run([f"--git-dir={repository.path}", "cat-file", form], f"{sha}\n".encode())
    kind, _, size = answer.out.decode("ascii", "replace").strip().partition(" ")
    return int(size) if kind == "blob" else None


async def read_blob(repository: Repository, sha: str, limit: int) -> bytes:
    """The bytes of a blob that is known to be there. Raises `TooLarge` beyond `limit` bytes."""
    try:
        answer = await run([f"--git-dir={repository.path}", "cat-file", "blob", sha], limit=limit)
    except TooLarge:
        raise TooLarge(f"The file has more than {limit:,} bytes; read it raw.") from None
    return answer.out


async def stream_blob(repository: Repository, sha: str) -> AsyncIterator[bytes]:
    """The same in pieces, however large it is. Raises `Unavailable` when git stops before its end."""
    async with start([f"--git-dir={repository.path}", "cat-file", "blob", sha]) as git:
        git.stdin.close()
        while chunk := await git.stdout.read(CHUNK):
            yield chunk
        if await git.wait():
            raise Unavailable(f"git could not read {sha}: {git.err or 'no message'}")
