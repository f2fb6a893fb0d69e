"""Branches and tags that go from one server to another one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer

from domain.errors import Unavailable
from git.repository import Repositories
from git.transport.transfer import SOURCE, TARGET, Access, Transfer, _refusals, transfer
from tests.git.serving import GitServer, git, new_commit, new_work_tree


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[GitServer]:
    """Two repositories behind HTTP: 1 has a branch and a tag, 2 is empty."""
    made = GitServer(Repositories(tmp_path / "repositories"))
    await made.repositories.create(1, "main")
    await made.repositories.create(2, "main")
    tree = tmp_path / "tree"
    await new_work_tree(tree, {"a": "1"})
    await git("tag", "v1", cwd=tree)
    await git("push", "-q", made.repositories.path(1), "main", "v1", cwd=tree)
    test_server = TestServer(made.application())
    await test_server.start_server()
    made.url = str(test_server.make_url(""))
    yield made
    await test_server.close()


def access(server: GitServer, number: int) -> Access:
    """One of its repositories."""
    return Access(f"{server.url.rstrip('/')}/{number}.git", "glpat-x")


async def copied(server: GitServer, **names: str) -> dict[str, str]:
    """Copy from 1 to 2; what was refused."""

    def work() -> dict[str, str]:
        with transfer() as between:
            found = between.fetch(access(server, 1), SOURCE)
            return between.push(access(server, 2), list(found))

    return await asyncio.to_thread(work)


async def refs(server: GitServer, number: int) -> dict[str, str]:
    """The branches and tags of a repository."""
    found = await server.repositories.get(number).refs()
    return {ref.name: ref.object for ref in found}


async def test_branches_and_tags_arrive_without_a_pipeline(server: GitServer) -> None:
    assert await copied(server) == {}
    assert await refs(server, 2) == await refs(server, 1)
    assert [push.options for push in server.pushes] == [("ci.no_pipeline",)]


async def test_a_branch_of_another_history_is_refused_and_the_others_arrive(server: GitServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    await new_work_tree(other, {"b": "2"})
    await git("push", "-q", server.repositories.path(2), "main", cwd=other)
    refused = await copied(server)
    assert list(refused) == ["refs/heads/main"]
    assert "rejected" in refused["refs/heads/main"]
    assert "refs/tags/v1" in await refs(server, 2)


async def test_what_leads_to_what(server: GitServer, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    await new_commit(tree, {".gitattributes": "*.bin filter=lfs\n"})
    await git("push", "-q", server.repositories.path(1), "main:next", cwd=tree)

    def work() -> Any:
        with transfer() as between:
            found = between.fetch(access(server, 1), SOURCE)
            assert between.fetch(access(server, 2), TARGET) == {}
            old, new = found["refs/heads/main"], found["refs/heads/next"]
            large = between.uses_large_files("main"), between.uses_large_files("next")
            return between.is_ancestor(old, new), between.is_ancestor(new, old), large

    assert await asyncio.to_thread(work) == (True, False, (False, True))


async def test_many_at_once_and_one_that_spoils_it_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def push(_self: Transfer, _access: Access, names: list[str]) -> dict[str, str]:
        asked.append(len(names))
        return dict.fromkeys(names, "no") if "refs/heads/bad" in names else {}

    monkeypatch.setattr(Transfer, "_push_once", push)
    names = [f"refs/heads/b{number}" for number in range(449)] + ["refs/heads/bad"]
    assert Transfer(Path("x")).push(Access("http://x", "t"), names) == {"refs/heads/bad": "no"}
    assert max(asked) == 200
    assert len(asked) < 25


async def test_a_history_with_old_mistakes_is_taken(server: GitServer, tmp_path: Path) -> None:
    """Modes with a zero before them, as some tools wrote long ago."""
    tree = tmp_path / "tree"
    blob = await git("hash-object", "-w", "a", cwd=tree)
    folder = tmp_path / "inner"
    folder.write_bytes(b"100644 a\0" + bytes.fromhex(blob))
    inner = await git("hash-object", "-w", "-t", "tree", "--literally", folder, cwd=tree)
    folder.write_bytes(b"040000 old\0" + bytes.fromhex(inner))
    outer = await git("hash-object", "-w", "-t", "tree", "--literally", folder, cwd=tree)
    commit = await git("commit-tree", "-m", "Old", outer, cwd=tree)
    await git("push", "-q", server.repositories.path(1), f"{commit}:refs/heads/old", cwd=tree)
    assert await copied(server) == {}
    assert (await refs(server, 2))["refs/heads/old"] == commit


async def test_what_is_not_there_is_told_without_the_token(server: GitServer) -> None:
    with transfer() as between, pytest.raises(Unavailable) as raised:
        await asyncio.to_thread(between.fetch, access(server, 9), SOURCE)
    assert "/9.git cannot be fetched" in str(raised.value)
    assert "glpat-x" not in str(raised.value)
    assert not await asyncio.to_thread(between._folder.exists)


def test_the_token_is_sent_to_its_server_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/ours.pem")
    monkeypatch.setenv("GIT_TRACE_CURL", "1")
    made = Access("https://gitlab.example.com:8443/git/a/b.git", "glpat-x")
    settings = {
        made.environment()[f"GIT_CONFIG_KEY_{number}"]: made.environment()[f"GIT_CONFIG_VALUE_{number}"]
        for number in range(int(made.environment()["GIT_CONFIG_COUNT"]))
    }
    header = settings["http.https://gitlab.example.com:8443/.extraHeader"]
    assert header.startswith("Authorization: Basic ")
    assert (settings["http.followRedirects"], settings["credential.helper"]) == ("false", "")
    assert settings["http.sslCAInfo"] == "/etc/ours.pem"
    assert made.environment()["HTTPS_PROXY"] == "http://proxy.example"
    assert "GIT_TRACE_CURL" not in made.environment()
    assert "glpat-x" not in repr(made)
    assert made.masked(f"a glpat-x {header}") == "a [MASKED] Authorization: Basic [MASKED]"


def test_what_git_says_of_each_ref() -> None:
    said = "To http://x\n!\tx:refs/heads/a\t[remote rejected] (no)\n*\tx:refs/heads/b\t[new branch]\nDone\n"
    assert dict(_refusals(said)) == {"refs/heads/a": "[remote rejected] (no)"}
