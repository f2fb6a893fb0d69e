"""What people read when git is refused: by the real git command, in words and never in JSON."""

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from api import git_http
from application.pushes import push
from domain.errors import StorageFull, Unavailable
from domain.size_limits import fixed
from git import turns
from git.transport import push as git_push
from git.transport import smart_http
from git.turns import Places
from settings import SizeLimits
from tests.api.test_git_http import CONFIG, remote, try_git, work_tree
from tests.api.v4.site import Site, open_site, serving
from tests.git.serving import git


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind of database does: this is about git."""
    return sqlite_url


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server, with an empty repository."""
    async with open_site(tmp_path, database_url) as opened, serving(opened):
        await opened.services.repositories.create(opened.world.project_id, "main")
        yield opened


async def refused(site: Site, *words: str) -> str:
    """What git says of a call that fails; none of it is JSON."""
    code, said = await try_git(*words, cwd=site.folder / "work")
    assert code != 0, said
    assert '{"' not in said
    return said


async def test_a_wrong_token(site: Site) -> None:
    await work_tree(site)
    said = await refused(site, "push", await remote(site, "glpat-wrong"), "main")
    assert "remote: HTTP Basic: Access denied. That access token was revoked, has expired," in said
    assert "it needs one of the scopes api, write_repository." in said
    assert f"remote: `perdure login {site.services.settings.url} --git` gives git" in said


async def test_a_password_in_place_of_a_token(site: Site) -> None:
    """Git is told so, as REST is, in whatever way it is shown; the right one is answered like a wrong one."""
    await work_tree(site)
    password = "correct horse"
    async with site.client(site.root) as client:
        assert (await client.put(f"/api/v4/users/{site.root.id}", json={"password": password})).status_code == 200
    for shown in (quote(password), "wrong"):
        said = await refused(site, "fetch", await remote(site, shown, "root"), "main")
        assert "Access denied. That is no access token, which begins with glpat-; a password opens only" in said
    async with site.client() as client:
        for shown in (password, "wrong"):
            basic = await client.get("/api/v4/user", auth=("root", shown))
            assert (basic.status_code, "the API takes no user name and password" in basic.text) == (401, True)
            header = await client.get("/api/v4/user", headers={"PRIVATE-TOKEN": shown})
            assert (header.status_code, "That is no access token" in header.text) == (401, True)
        assert (await client.get("/api/v4/user")).json() == {"message": "401 Unauthorized"}


async def test_each_kind_of_token_is_named_as_what_it_is(site: Site) -> None:
    await work_tree(site)
    for shown, at_git, at_rest in (
        ("gldt-wrong", "That deploy token was revoked", "That is a deploy token, which only git and container tools"),
        ("glrt-wrong", "That is the token of a runner", "That is the token of a runner"),
        ("glptt-wrong", "That is a trigger token", "That is a trigger token"),
    ):
        said = await refused(site, "fetch", await remote(site, shown, "robot"), "main")
        assert f"Access denied. {at_git}" in said
        async with site.client(headers={"PRIVATE-TOKEN": shown}) as client:
            response = await client.get("/api/v4/user")
            assert (response.status_code, at_rest in response.text) == (401, True), response.text


async def test_a_project_that_is_not_there(site: Site) -> None:
    await work_tree(site)
    url = (await remote(site)).replace(await site.path(), "nobody/nothing")
    said = await refused(site, "fetch", url, "main")
    assert "remote: 404 Project Not Found: there is no project nobody/nothing, or you may not see it. You are" in said
    assert "signed in as root." in said


async def test_somebody_who_may_only_read(site: Site) -> None:
    await work_tree(site)
    reporter = await site.person("reporter", level=20)
    said = await refused(site, "push", await remote(site, reporter.token, "rita"), "main")
    assert "remote: 403 Forbidden: you are not allowed to push to this project. That takes the role developer;" in said
    assert "You are signed in as reporter." in said


async def test_an_archived_project(site: Site) -> None:
    await work_tree(site)
    await site.set_project(archived=True)
    assert "remote: 403 Forbidden: the project is archived;" in await refused(site, "push", await remote(site), "main")


async def test_the_token_of_a_job(site: Site) -> None:
    await work_tree(site)
    await site.world.pipeline(CONFIG)
    job = await site.world.job()
    url = await remote(site, job["token"], "gitlab-ci-token")
    assert "remote: 403 Forbidden: a job token cannot push." in await refused(site, "push", url, "main")
    await site.world.put(job, "success", b"")
    assert "remote: 403 Forbidden" in await refused(site, "fetch", url, "main")


async def test_a_protected_branch(site: Site) -> None:
    await work_tree(site)
    developer = await site.person("dev", level=30)
    url = await remote(site, developer.token, "dev")
    said = await refused(site, "push", url, "main")
    assert "[remote rejected] main -> main (You are not allowed to" in said


@pytest.mark.parametrize("size", [10, 3_000_000])
async def test_a_push_of_too_many_refs(site: Site, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Also when git sends it in pieces, which it does from 1 MiB on."""
    tree = await work_tree(site)
    (tree / "large").write_bytes(bytes(size))
    await try_git("add", ".", cwd=tree)
    monkeypatch.setattr(git_push, "COMMAND_LIMIT", 1)
    said = await refused(site, "push", await remote(site), "main", "main:other")
    assert "The push changes more than 1 refs; push them in parts." in said
    assert "RPC failed" not in said
    assert await site.services.repositories.get(site.world.project_id).branches() == ()


@pytest.mark.parametrize("error", [Unavailable("The database is away."), StorageFull("No room is left.")])
async def test_a_push_while_a_part_is_away(site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def away(*_: Any) -> Any:
        raise error

    await work_tree(site)
    monkeypatch.setattr(push, "move_and_note", away)
    said = await refused(site, "push", await remote(site), "main")
    assert (str(error) in said, "RPC failed" in said) == (True, False)


async def test_maintenance(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> Any:
        raise Unavailable("The database is away; try again in a moment.")

    await work_tree(site)
    monkeypatch.setattr(git_http, "access_to", away)
    assert "remote: The database is away; try again in a moment." in await refused(
        site, "fetch", await remote(site), "main"
    )


async def test_a_fault_of_ours(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError

    await work_tree(site)
    monkeypatch.setattr(git_http, "access_to", broken)
    assert "remote: 500 Internal Server Error" in await refused(site, "fetch", await remote(site), "main")


async def test_a_fetch_that_asks_for_too_much(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await work_tree(site)
    assert (await try_git("push", await remote(site), "main", cwd=site.folder / "work"))[0] == 0
    monkeypatch.setattr(smart_http, "FETCH_LIMIT", fixed("fetches", 10, "Fetch fewer refs."))
    said = await refused(site, "clone", await remote(site), str(site.folder / "copy"))
    assert "remote error: " in said
    assert "Fetch fewer refs." in said
    assert "RPC failed" not in said


async def test_a_push_that_is_too_large(tmp_path: Path, database_url: str) -> None:
    sizes = SizeLimits(push_bytes=200_000)
    async with open_site(tmp_path, database_url, sizes=sizes) as site, serving(site):
        here = await site.services.repositories.create(site.world.project_id, "main")
        tree = await work_tree(site)
        assert (await try_git("push", await remote(site), "main", cwd=tree))[0] == 0
        (tree / "large").write_bytes(random.Random(1).randbytes(400_000))
        await git("add", "large", cwd=tree)
        await git("commit", "-qm", "Large", cwd=tree)
        assert "PERDURE_PUSH_BYTES" in await refused(site, "push", await remote(site), "main")
        kept = [file for file in here.path.rglob("*") if file.is_file() and file.stat().st_size > 50_000]
        assert kept == [], "nothing of it stays"


async def test_one_caller_pushes_only_so_often_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "PUSHES", Places(at_once=9, of_caller=0, of_repository=9))
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    await work_tree(site)
    assert "The server is busy" in await refused(site, "push", await remote(site), "main")


async def test_one_caller_fetches_only_so_often_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = await work_tree(site)
    assert (await try_git("push", await remote(site), "main", cwd=tree))[0] == 0
    monkeypatch.setattr(git_http, "FETCHES", Places(at_once=9, of_caller=0, of_repository=9))
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    assert "The server is busy" in await refused(site, "clone", await remote(site), str(site.folder / "copy"))
