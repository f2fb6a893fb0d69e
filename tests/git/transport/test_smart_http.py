"""Clone, fetch and push by the real git command over HTTP."""

import asyncio
import gzip
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.errors import Invalid, TooLarge
from git.repository import HIDDEN_FROM_PUSH, Repository
from git.transport.pkt_line import packet
from git.transport.smart_http import Service, gunzip, protocol_version, serve
from tests.git.serving import GitServer, git, new_commit, new_work_tree
from tests.waiting import HANGS, until


@pytest.fixture
async def work(tmp_path: Path, server: GitServer) -> Path:
    """A client's work tree with one commit, whose `origin` is the server."""
    folder = tmp_path / "work"
    await new_work_tree(folder, {"a": "1", "big": "0123456789" * 10_000})
    await git("remote", "add", "origin", server.url, cwd=folder)
    return folder


@pytest.mark.parametrize("version", ["0", "1", "2"])
async def test_push_then_clone(work: Path, server: GitServer, tmp_path: Path, version: str) -> None:
    await git("-c", f"protocol.version={version}", "push", "-q", "origin", "main", cwd=work)
    await git("-c", f"protocol.version={version}", "clone", "-q", server.url, "copy", cwd=tmp_path)
    assert (tmp_path / "copy" / "a").read_text() == "1"
    (update,) = server.applied
    assert (update.short_name, update.is_create, update.is_branch) == ("main", True, True)


async def test_shallow_clone_and_deepening(work: Path, server: GitServer, tmp_path: Path) -> None:
    for number in range(3):
        await new_commit(work, {"a": str(number + 2)})
    await git("push", "-q", "origin", "main", cwd=work)
    await git("clone", "-q", "--depth", "1", server.url, "copy", cwd=tmp_path)
    assert await git("rev-list", "--count", "HEAD", cwd=tmp_path / "copy") == "1"
    await git("fetch", "-q", "--unshallow", cwd=tmp_path / "copy")
    assert await git("rev-list", "--count", "HEAD", cwd=tmp_path / "copy") == "4"


async def test_partial_clone_brings_files_when_they_are_read(work: Path, server: GitServer, tmp_path: Path) -> None:
    await git("push", "-q", "origin", "main", cwd=work)
    await git("clone", "-q", "--no-checkout", "--filter=blob:none", server.url, "copy", cwd=tmp_path)
    missing = await git("rev-list", "--objects", "--all", "--missing=print", cwd=tmp_path / "copy")
    assert missing.count("?") == 2
    assert await git("show", "HEAD:a", cwd=tmp_path / "copy") == "1"


async def test_runner_fetch_of_a_commit_that_a_force_push_took_away(
    work: Path, server: GitServer, tmp_path: Path
) -> None:
    lost = await git("rev-parse", "HEAD", cwd=work)
    await git("push", "-q", "origin", "main", cwd=work)
    repository = server.repositories.get(7)
    await repository.keep(5, lost)
    await git("commit", "-q", "--amend", "-m", "other", cwd=work)
    await git("push", "-q", "--force", "origin", "main", cwd=work)
    await git(f"--git-dir={repository.path}", "gc", "-q", "--prune=now", cwd=work)
    copy = tmp_path / "copy"
    copy.mkdir()
    await git("init", "-q", cwd=copy)
    await git("fetch", "-q", "--depth", "1", server.url, "+refs/pipelines/5:refs/pipelines/5", cwd=copy)
    await git("checkout", "-q", lost, cwd=copy)
    assert (copy / "a").read_text() == "1"
    assert await repository.resolve("main") != lost


async def test_request_with_many_refs_comes_as_gzip(work: Path, server: GitServer, tmp_path: Path) -> None:
    # git packs a request above 1 KiB; each "want" has 50 bytes.
    for number in range(40):
        await git("commit", "-q", "--allow-empty", "-m", str(number), cwd=work)
        await git("branch", f"b{number}", cwd=work)
    await git("push", "-q", "--all", "origin", cwd=work)
    await git("clone", "-q", server.url, "copy", cwd=tmp_path)
    assert await git("rev-parse", "origin/b39", cwd=tmp_path / "copy") == await git("rev-parse", "b39", cwd=work)
    assert "gzip" in server.encodings


async def test_delete_of_a_branch(work: Path, server: GitServer) -> None:
    await git("push", "-q", "origin", "main", "main:gone", cwd=work)
    await git("push", "-q", "origin", ":gone", cwd=work)
    assert [ref.short_name for ref in await server.repositories.get(7).branches()] == ["main"]
    assert server.applied[-1].is_delete
    assert server.applied[-1].short_name == "gone"


async def test_push_options_and_message_to_the_pusher(work: Path, server: GitServer) -> None:
    server.message = "To see the pipeline, visit\n  http://example.com/p/1\x1b[2J"
    said = await git("push", "-o", "ci.skip", "-o", "ci.variable=A=b c", "origin", "main", cwd=work)
    assert server.pushes[0].options == ("ci.skip", "ci.variable=A=b c")
    assert "remote: To see the pipeline, visit" in said
    assert "remote:   http://example.com/p/1[2J" in said
    assert "[new branch]      main -> main" in said


async def test_push_of_more_than_one_request_buffer_is_probed_and_streamed(work: Path, server: GitServer) -> None:
    (work / "random").write_bytes(os.urandom(3_000_000))
    await git("add", ".", cwd=work)
    await git("commit", "-q", "-m", "large", cwd=work)
    await git("-c", "http.postBuffer=65536", "push", "-q", "origin", "main", cwd=work)
    assert [len(push.commands) for push in server.pushes] == [0, 1]
    assert await git(f"--git-dir={server.repositories.get(7).path}", "fsck", "--strict", cwd=work) == ""


@pytest.mark.parametrize("space", HIDDEN_FROM_PUSH)
async def test_hidden_refs_cannot_be_pushed(work: Path, server: GitServer, space: str) -> None:
    said = await git("push", "origin", "main", f"main:{space}/1", cwd=work, code=1)
    assert "deny updating a hidden ref" in said
    assert [update.ref for update in server.applied] == ["refs/heads/main"]
    assert [ref.name for ref in await server.repositories.get(7).refs()] == ["refs/heads/main"]


async def test_unknown_commit_is_told_to_the_client(work: Path, server: GitServer) -> None:
    await git("push", "-q", "origin", "main", cwd=work)
    assert "not our ref" in await git("fetch", "origin", "1" * 40, cwd=work, code=128)


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    """A body of these parts."""
    for part in parts:
        yield part


async def test_refused_request_carries_what_git_said(repository: Repository) -> None:
    body = chunks(b"00zznonsense")
    with pytest.raises(Invalid, match=r"git-upload-pack refused the request: .*bad line length"):
        await anext(serve(repository, Service.UPLOAD_PACK, body))


async def test_body_that_breaks_is_raised_and_changes_nothing(repository: Repository) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield packet(f"{'0' * 40} {'1' * 40} refs/heads/x\0 report-status".encode())
        raise ConnectionResetError("the pusher is gone")

    with pytest.raises(ConnectionResetError, match="the pusher is gone"):
        async for _ in serve(repository, Service.RECEIVE_PACK, broken()):
            pass
    assert await repository.refs() == ()
    assert list(repository.path.rglob("*.lock")) == []


async def test_request_beyond_its_limit_is_refused(work: Path, server: GitServer) -> None:
    await git("push", "-q", "origin", "main", cwd=work)
    sha = await git("rev-parse", "HEAD", cwd=work)

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield packet(f"want {sha}\n".encode()) * 1000

    with pytest.raises(TooLarge, match="Fetch fewer refs"):
        async for _ in serve(server.repositories.get(7), Service.UPLOAD_PACK, endless()):
            pass


def git_processes(repository: Repository) -> list[str]:
    """Command lines of running processes that name the repository."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(repository.path) in line:
            found.append(line)
    return found


async def test_git_is_ended_when_the_client_goes_away(repository: Repository) -> None:
    waiting = asyncio.Event()

    async def silent() -> AsyncIterator[bytes]:
        yield b""
        waiting.set()
        await asyncio.Event().wait()

    serving = asyncio.create_task(anext(serve(repository, Service.UPLOAD_PACK, silent())))
    await waiting.wait()
    assert len(git_processes(repository)) == 1
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert git_processes(repository) == []


async def test_git_is_ended_when_the_answer_is_not_read_to_its_end(work: Path, server: GitServer) -> None:
    (work / "random").write_bytes(os.urandom(3_000_000))
    sha = await new_commit(work, {})
    await git("push", "-q", "origin", "main", cwd=work)
    repository = server.repositories.get(7)
    wish = f"0032want {sha}\n00000009done\n".encode()
    response = serve(repository, Service.UPLOAD_PACK, chunks(wish))
    assert await anext(response)
    assert git_processes(repository)
    await response.aclose()
    # A child that git forks with signals blocked is not told of the end: it ends because nobody reads it any more.
    until(lambda: not git_processes(repository), HANGS)


@pytest.mark.parametrize(
    ("header", "version"),
    [("version=2", 2), ("a=b:version=1", 1), ("version=2:x", 2), ("version=9", 0), ("version=2\nX: y", 0), (None, 0)],
)
def test_protocol_header(header: str | None, version: int) -> None:
    assert protocol_version(header) == version


async def test_gunzip_streams_and_refuses_bombs_and_broken_data() -> None:
    plain = os.urandom(300_000)
    packed = gzip.compress(plain)
    parts = [packed[start : start + 1000] for start in range(0, len(packed), 1000)]
    assert b"".join([chunk async for chunk in gunzip(chunks(*parts))]) == plain
    with pytest.raises(TooLarge, match="grows more than 100 times"):
        async for _ in gunzip(chunks(gzip.compress(b"\0" * 50_000_000))):
            pass
    for body, message in ((packed[:-5], "is cut"), (b"nonsense", "is broken"), (b"", "is cut")):
        with pytest.raises(Invalid, match=message):
            async for _ in gunzip(chunks(body)):
                pass
