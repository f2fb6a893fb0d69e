"""Getting sources with real git, over file:// and over HTTP with a password."""

import base64
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from domain.errors import Invalid
from domain.masked_stream import Masker
from fleet.executors.hands import Hands
from fleet.executors.process import Command, run_command
from fleet.executors.shell import ShellExecutor
from fleet.executors.sources import project_folder, read_remote
from fleet.executors.workspace import Slot, Workspace, make_workspace
from fleet.job import read_job
from fleet.trace import Trace
from tests.certificates import self_signed
from tests.fleet.jobs import payload
from tests.fleet.repository import Repository, git


async def get(
    tmp_path: Path, url: str, sha: str, depth: int = 0, authority: str = "", **variables: str
) -> tuple[int, Workspace, str]:
    """Run the stage; gives its status, the environment and the log so far."""
    refspecs = ["+refs/heads/main:refs/remotes/origin/main"]
    info = {"repo_url": url, "ref": "main", "sha": sha, "depth": depth, "refspecs": refspecs}
    job = read_job(payload(variables={"GIT_STRATEGY": "fetch", **variables}, git_info=info))
    workspace = make_workspace(job, Slot(tmp_path / "builds", "abc", 0, authority=authority), "mark")
    trace = Trace(tmp_path / "log", Masker(workspace.secrets))
    executor = ShellExecutor(workspace, trace, hands=Hands(), mark="mark", record=lambda _: None)
    try:
        await executor.prepare()
        status = await executor.get_sources(job.git)
        trace.flush()
    finally:
        trace.close()
    return status, workspace, trace.file.read_text()


async def test_checks_out_the_commit(tmp_path: Path, repository: Repository) -> None:
    status, workspace, log = await get(tmp_path, repository.path.as_uri(), repository.first)
    assert status == 0, log
    assert (workspace.project_dir / "file").read_text() == "one"
    assert f"Checking out {repository.first[:8]}" in log


async def test_depth(tmp_path: Path, repository: Repository) -> None:
    status, workspace, log = await get(tmp_path, repository.path.as_uri(), repository.second, depth=1)
    assert status == 0, log
    assert "depth set to 1" in log
    assert git(workspace.project_dir, "rev-list", "--count", "HEAD") == "1"
    status, _, log = await get(tmp_path, repository.path.as_uri(), repository.first)
    assert status == 0, log
    assert (workspace.project_dir / "file").read_text() == "one"


async def test_fetch_cleans_and_breaks_stale_locks(tmp_path: Path, repository: Repository) -> None:
    _, workspace, _ = await get(tmp_path, repository.path.as_uri(), repository.first)
    (workspace.project_dir / "left-over").touch()
    (workspace.project_dir / "file").write_text("changed")
    (workspace.project_dir / ".git/index.lock").touch()
    status, _, log = await get(tmp_path, repository.path.as_uri(), repository.second)
    assert status == 0, log
    assert not (workspace.project_dir / "left-over").exists()
    assert (workspace.project_dir / "file").read_text() == "two"


async def test_clean_flags(tmp_path: Path, repository: Repository) -> None:
    _, workspace, _ = await get(tmp_path, repository.path.as_uri(), repository.first)
    (workspace.project_dir / "keep").touch()
    await get(tmp_path, repository.path.as_uri(), repository.second, GIT_CLEAN_FLAGS="none")
    assert (workspace.project_dir / "keep").exists()
    await get(tmp_path, repository.path.as_uri(), repository.second, GIT_CLEAN_FLAGS="-ffdx -e keep")
    assert (workspace.project_dir / "keep").exists()


async def test_clone_starts_from_nothing(tmp_path: Path, repository: Repository) -> None:
    _, workspace, _ = await get(tmp_path, repository.path.as_uri(), repository.first)
    (workspace.project_dir / ".git/marker").touch()
    status, _, log = await get(tmp_path, repository.path.as_uri(), repository.first, GIT_STRATEGY="clone")
    assert status == 0, log
    assert not (workspace.project_dir / ".git/marker").exists()


async def test_unknown_commit_fails_with_gits_words(tmp_path: Path, repository: Repository) -> None:
    status, _, log = await get(tmp_path, repository.path.as_uri(), "1" * 40)
    assert status != 0
    assert "1" * 40 in log


async def test_a_wrong_object_id_is_named(tmp_path: Path, repository: Repository) -> None:
    with pytest.raises(Invalid, match="object id"):
        await get(tmp_path, repository.path.as_uri(), "main")


@pytest.fixture
async def protected(repository: Repository) -> AsyncIterator[tuple[str, list[str]]]:
    """The repository over plain HTTP behind Basic authentication, and the credentials that came."""
    async with serving(repository) as served:
        yield served


@asynccontextmanager
async def serving(
    repository: Repository, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[str, list[str]]]:
    """The same, with TLS if there is a context."""
    came: list[str] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if not given:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        came.append(base64.b64decode(given.removeprefix("Basic ")).decode())
        file = repository.path / request.match_info["path"]
        return web.FileResponse(file) if file.is_file() else web.Response(status=404)

    app = web.Application()
    app.router.add_get("/group/project.git/{path:.*}", serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    yield f"127.0.0.1:{runner.addresses[0][1]}", came
    await runner.cleanup()


async def test_password_is_used_and_never_shown(
    tmp_path: Path, repository: Repository, protected: tuple[str, list[str]]
) -> None:
    place, came = protected
    url = f"http://gitlab-ci-token:top-secret-1@{place}/group/project.git"
    status, workspace, log = await get(tmp_path, url, repository.second)
    assert status == 0, log
    assert set(came) == {"gitlab-ci-token:top-secret-1"}
    assert "top-secret-1" not in log
    assert "top-secret-1" not in (workspace.project_dir / ".git/config").read_text()
    assert workspace.project_dir == tmp_path / "builds/abc/0/group/project"
    assert os.environ["PATH"] == workspace.environment["PATH"]


async def test_git_believes_the_authority_that_the_runner_is_told_and_no_other_stranger(
    tmp_path: Path, repository: Repository
) -> None:
    """As with GitLab Runner's `tls-ca-file`; the job's scripts find it, too."""
    files = self_signed(tmp_path, "front")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    async with serving(repository, context) as (place, came):
        url = f"https://gitlab-ci-token:top-secret-1@{place}/group/project.git"
        status, _, log = await get(tmp_path, url, repository.second)
        assert (status != 0, "certificate" in log, came) == (True, True, []), log
        authority = files.certificate.read_text()
        status, workspace, log = await get(tmp_path, url, repository.second, authority=authority)
        assert status == 0, log
    assert set(came) == {"gitlab-ci-token:top-secret-1"}
    assert workspace.files[Path(workspace.environment["CI_SERVER_TLS_CA_FILE"])] == authority


async def test_scripts_can_use_git_as_well(
    tmp_path: Path, repository: Repository, protected: tuple[str, list[str]]
) -> None:
    url = f"http://gitlab-ci-token:top-secret-1@{protected[0]}/group/project.git"
    _, workspace, _ = await get(tmp_path, url, repository.first)
    output = bytearray()
    command = Command(("git", "fetch", "origin", "main"), workspace.project_dir, workspace.environment)
    assert await run_command(command, output.extend, lambda _: None) == 0, output
    assert b"top-secret-1" not in output


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("http://u:p@host/group/sub/project.git", "group/sub/project"),
        ("file:///srv/x.git", "project-1"),
        ("", "project-1"),
        ("http://host/", "project-1"),
    ],
)
def test_project_folder(url: str, folder: str) -> None:
    job = read_job(payload(git_info={"repo_url": url}))
    assert project_folder(job, "fetch") == folder
    assert project_folder(job, "empty") == folder + "-empty"


def test_project_folder_stays_in_its_slot() -> None:
    with pytest.raises(Invalid, match=r"`\.\.`"):
        project_folder(read_job(payload(git_info={"repo_url": "http://host/a/%2e%2e/%2e%2e/etc"})), "fetch")


def test_remote_hides_its_password() -> None:
    remote = read_remote("https://user:p%40ss@host:8443/a/b.git")
    assert (remote.url, remote.user, remote.password) == ("https://host:8443/a/b.git", "user", "p@ss")
    assert "p@ss" not in repr(remote)
    assert read_remote("file:///a/b.git").environment() == {}
