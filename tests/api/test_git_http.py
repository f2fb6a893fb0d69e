"""Clone and push by the real git command over HTTP."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from application.pipelines.sealed_values import opened_variables
from application.pushes import push
from application.pushes.push import finish_abandoned
from domain.errors import Unavailable
from models.repositories.pipelines.job_rows import job
from models.repositories.pipelines.pipelines import pipeline
from models.repositories.pipelines.pushes import push as push_table
from tests.api.v4.site import Person, Site, open_site, serving
from tests.git.serving import git

CONFIG = "build: {script: make}\n"


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


async def remote(site: Site, token: str | None = None, user: str = "root") -> str:
    """Address of the repository with a password in it."""
    host = site.services.settings.url.removeprefix("http://")
    return f"http://{user}:{token or site.root.token}@{host}/{await site.path()}.git"


async def work_tree(site: Site, config: str = CONFIG, message: str = "Add a pipeline") -> Any:
    """A work tree with one commit."""
    tree = site.folder / "work"
    tree.mkdir(exist_ok=True)
    (tree / ".gitlab-ci.yml").write_text(config)
    await git("init", "-q", "-b", "main", cwd=tree)
    await git("add", ".", cwd=tree)
    await git("commit", "-q", "--allow-empty", "-m", message, cwd=tree)
    return tree


async def try_git(*words: object, cwd: Any) -> tuple[int, str]:
    """A git command that may fail: its exit code and what it said."""
    process = await asyncio.create_subprocess_exec(
        "git",
        *map(str, words),
        cwd=cwd,
        stdout=-1,
        stderr=-1,
        env={"GIT_TERMINAL_PROMPT": "0", "PATH": "/usr/bin:/bin"},
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, (out + err).decode()


async def pipelines_of(site: Site) -> list[Any]:
    """Every pipeline, oldest first."""
    async with site.services.database.read() as connection:
        return list((await connection.execute(select(pipeline).order_by(pipeline.c.id))).all())


async def test_a_push_creates_the_pipeline_and_names_it(site: Site) -> None:
    tree = await work_tree(site)
    code, words = await try_git("push", await remote(site), "main", cwd=tree)
    (made,) = await pipelines_of(site)
    assert code == 0, words
    assert f"/-/pipelines/{made.id}" in words
    assert (made.ref, made.source, made.status) == ("main", "push", "created")
    assert made.commit["title"] == "Add a pipeline"


async def test_a_clone_gets_what_was_pushed(site: Site) -> None:
    tree = await work_tree(site)
    await git("push", "-q", await remote(site), "main", cwd=tree)
    await git("clone", "-q", "--depth", "1", await remote(site), site.folder / "copy", cwd=site.folder)
    assert (site.folder / "copy" / ".gitlab-ci.yml").read_text() == CONFIG


async def test_a_broken_configuration_is_shown_to_the_pusher_and_kept(site: Site) -> None:
    tree = await work_tree(site, "build: {script: make, stage: nowhere}\n")
    code, words = await try_git("push", await remote(site), "main", cwd=tree)
    (made,) = await pipelines_of(site)
    assert code == 0, "the push itself is good"
    assert "chosen stage nowhere does not exist" in words
    assert (made.status, made.failure_reason) == ("failed", "config_error")
    assert ".gitlab-ci.yml:1" in made.yaml_errors


@pytest.mark.parametrize(
    ("message", "options", "why"),
    [
        ("[skip ci] words", (), "its commit message asks for that ([skip ci])"),
        ("words [CI SKIP]", (), "its commit message asks for that ([skip ci])"),
        ("words", ("-o", "ci.skip"), "its push asked for that (push option `ci.skip`)"),
        ("[skip ci] words", ("-o", "ci.skip"), "its push asked for that (push option `ci.skip`)"),
    ],
)
async def test_a_skipped_pipeline_is_recorded_with_what_asked_for_it(
    site: Site, message: str, options: tuple[str, ...], why: str
) -> None:
    tree = await work_tree(site, message=message)
    _, said = await try_git("push", *options, await remote(site), "main", cwd=tree)
    (made,) = await pipelines_of(site)
    assert (made.status, made.status_reason) == ("skipped", f"Skipped: {why}.")
    assert f"Pipeline {made.id} for main: Skipped: {why}." in said
    assert f"/-/pipelines/{made.id}" in said
    async with site.client(site.root) as client:
        page = await client.get(f"/{await site.path()}/-/pipelines/{made.id}")
    assert why.partition(" (")[0] in page.text


async def test_push_options_become_variables(site: Site) -> None:
    tree = await work_tree(site)
    await git("push", "-q", "-o", "ci.variable=DEPTH=a=b", await remote(site), "main", cwd=tree)
    (made,) = await pipelines_of(site)
    assert opened_variables(site.services.sealer, made.variables) == [{"key": "DEPTH", "value": "a=b"}]


async def test_branches_and_tags_get_a_pipeline_each_and_deletions_none(site: Site) -> None:
    tree = await work_tree(site)
    await git("tag", "v1", cwd=tree)
    await git("push", "-q", await remote(site), "main", "v1", cwd=tree)
    await git("push", "-q", await remote(site), ":refs/tags/v1", cwd=tree)
    assert [(made.ref, made.tag) for made in await pipelines_of(site)] == [("main", False), ("v1", True)]


async def test_a_project_without_a_configuration_gets_no_pipeline(site: Site) -> None:
    tree = await work_tree(site)
    await git("rm", "-q", ".gitlab-ci.yml", cwd=tree)
    await git("commit", "-q", "--allow-empty", "-m", "Remove it", cwd=tree)
    assert (await try_git("push", await remote(site), "main", cwd=tree))[0] == 0
    assert await pipelines_of(site) == []


@pytest.mark.parametrize(
    ("path", "token", "words"),
    [
        ("nobody/nothing", None, "not found"),
        (None, "glpat-wrong", "Authentication failed"),
    ],
)
async def test_a_push_to_nowhere_or_by_nobody_is_explained(
    site: Site, path: str | None, token: str | None, words: str
) -> None:
    tree = await work_tree(site)
    url = await remote(site, token)
    url = url if path is None else url.replace(await site.path(), path)
    code, said = await try_git("push", url, "main", cwd=tree)
    assert code != 0
    assert words.lower() in said.lower()
    assert await pipelines_of(site) == []


async def test_a_stranger_is_asked_who_he_is_and_a_reporter_may_not_push(site: Site) -> None:
    tree = await work_tree(site)
    reporter = await site.person("reporter", level=20)
    code, said = await try_git("push", await remote(site, reporter.token, "reporter"), "main", cwd=tree)
    assert (code != 0, "403" in said) == (True, True)
    async with site.client() as client:
        response = await client.get(f"/{await site.path()}.git/info/refs?service=git-upload-pack")
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Basic")


async def running_job(site: Site, pusher: Person | None = None) -> tuple[Path, dict[str, Any], str]:
    """A work tree that was pushed, the job of its pipeline that runs, and where that fetches from with its token."""
    tree = await work_tree(site)
    address = await (remote(site) if pusher is None else remote(site, pusher.token, pusher.username))
    await git("push", "-q", address, "main", cwd=tree)
    (made,) = await pipelines_of(site)
    await site.world.settle(made.id)
    job = await site.world.job()
    return tree, job, await remote(site, job["token"], "gitlab-ci-token")


async def test_a_job_token_reads_its_own_project_only_while_it_runs(site: Site) -> None:
    tree, job, url = await running_job(site)
    fetch = ("fetch", "-q", url, *job["git_info"]["refspecs"], "--depth", "20")
    bare = site.folder / "bare"
    await git("init", "-q", bare, cwd=site.folder)
    assert (await try_git(*fetch, cwd=bare))[0] == 0
    assert (await try_git("push", url, "main", cwd=tree))[0] != 0
    await site.world.put(job, "success", b"")
    assert (await try_git(*fetch, cwd=bare))[0] != 0


async def test_the_job_of_somebody_who_is_blocked_reads_nothing(site: Site) -> None:
    tree, _, url = await running_job(site)
    assert (await try_git("ls-remote", url, cwd=tree))[0] == 0
    await site.block(site.root)
    code, said = await try_git("ls-remote", url, cwd=tree)
    assert (code != 0, "403" in said) == (True, True)


async def test_the_job_of_somebody_who_has_left_the_project_reads_nothing(site: Site) -> None:
    developer = await site.person("dev", 40)
    tree, _, url = await running_job(site, developer)
    assert (await try_git("ls-remote", url, cwd=tree))[0] == 0
    async with site.client(site.root) as client:
        left = await client.delete(f"/api/v4/projects/{site.world.project_id}/members/{developer.id}")
    assert left.status_code == 204, left.text
    code, said = await try_git("ls-remote", url, cwd=tree)
    assert (code != 0, "403" in said) == (True, True)


WHOLE = """
variables: {GIT_DEPTH: "0"}
build: {script: make, rules: [{when: on_success}]}
"""


async def fetched_refs(site: Site, name: str) -> set[str]:
    """What a runner has of the repository once it has fetched for the next job, with the job's commit checked out."""
    job = await site.world.job()
    info, folder = job["git_info"], site.folder / name
    assert info["depth"] == 0
    await git("init", "-q", folder, cwd=site.folder)
    await git("remote", "add", "origin", info["repo_url"], cwd=folder)
    await git("fetch", "-q", "origin", *info["refspecs"], cwd=folder)
    await git("checkout", "-q", info["sha"], cwd=folder)
    assert not (folder / ".git" / "shallow").exists()
    refs = await git("for-each-ref", "--format=%(refname)", "refs/remotes", "refs/tags", cwd=folder)
    return set(refs.split())


async def test_a_job_of_any_pipeline_gets_the_whole_repository_if_it_asks(site: Site) -> None:
    tree = await work_tree(site, WHOLE)
    address = await remote(site)
    await git("tag", "v1", cwd=tree)
    await git("push", "-q", "-o", "ci.no_pipeline", address, "main", "main:refs/heads/other", "v1", cwd=tree)
    everything = {"refs/remotes/origin/main", "refs/remotes/origin/other", "refs/tags/v1"}
    await git("commit", "-q", "--allow-empty", "-m", "More", cwd=tree)
    await git("push", "-q", address, "main", cwd=tree)
    await git("tag", "-m", "Two", "v2", cwd=tree)
    await git("push", "-q", address, "v2", cwd=tree)
    await git("push", "-q", "-o", "ci.no_pipeline", address, "main:refs/heads/fix", cwd=tree)
    await git("commit", "-q", "--allow-empty", "-m", "Fix", cwd=tree)
    await git("push", "-q", "-o", "ci.no_pipeline", address, "HEAD:fix", cwd=tree)
    body = {"source_branch": "fix", "target_branch": "main", "title": "Fix"}
    async with site.client(site.root) as client:
        made = await client.post(f"/api/v4/projects/{site.world.project_id}/merge_requests", json=body)
    assert made.status_code == 201, made.text
    rows = await pipelines_of(site)
    assert {row.source for row in rows} == {"push", "merge_request_event"}
    everything |= {"refs/remotes/origin/fix", "refs/tags/v2"}
    for row in rows:
        await site.world.settle(row.id)
        assert await fetched_refs(site, f"for {row.id}") == everything


async def test_a_push_whose_process_died_gets_its_pipeline_later(site: Site) -> None:
    """The note is there and the ref has moved; only the pipeline is missing."""
    tree = await work_tree(site)
    sha = await git("rev-parse", "HEAD", cwd=tree)
    await git("push", "-q", site.services.repositories.path(site.world.project_id), "main", cwd=tree)
    note = {"old": "0" * 40, "new": sha, "ref": "refs/heads/main"}
    async with site.services.database.write() as connection:
        await connection.execute(
            push_table.insert().values(
                project_id=site.world.project_id,
                user_id=site.root.id,
                updates=[note],
                options=[],
                created_at=site.services.clock(),
            )
        )
    assert await finish_abandoned(site.services, all_of_them=True) == 1
    assert [made.sha for made in await pipelines_of(site)] == [sha]
    assert await finish_abandoned(site.services, all_of_them=True) == 0
    assert len(await pipelines_of(site)) == 1


async def test_a_push_that_the_rules_do_not_want_makes_no_pipeline_and_says_why(site: Site) -> None:
    tree = await work_tree(site, "a: {script: x, rules: [{if: $CI_COMMIT_TAG}]}\n")
    code, words = await try_git("push", await remote(site), "main", cwd=tree)
    assert code == 0, words
    assert "No pipeline for main" in words
    assert "a: no item of `rules` matched" in words
    assert await pipelines_of(site) == []


async def test_a_push_gives_inputs_and_knows_what_it_changed(site: Site) -> None:
    config = (
        "spec: {inputs: {kind: {default: small}}}\n---\n"
        "'$[[ inputs.kind ]]': {script: x, rules: [{changes: [docs/*]}]}\nother: {script: x}\n"
    )
    tree = await work_tree(site, config)
    await git("push", "-q", await remote(site), "main", cwd=tree)
    (tree / "docs").mkdir()
    (tree / "docs" / "a.md").write_text("a")
    await git("add", ".", cwd=tree)
    await git("commit", "-q", "-m", "Write docs", cwd=tree)
    await git("push", "-q", "-o", "ci.input=kind=big", await remote(site), "main", cwd=tree)
    await git("commit", "-q", "--allow-empty", "-m", "Change nothing", cwd=tree)
    await git("push", "-q", await remote(site), "main", cwd=tree)
    async with site.services.database.read() as connection:
        rows = (await connection.execute(select(job.c.name).order_by(job.c.id))).scalars()
    assert list(rows) == ["small", "other", "big", "other", "other"]


async def test_a_forbidden_ref_refuses_the_whole_push_in_gits_own_words(site: Site) -> None:
    tree = await work_tree(site)
    await git("push", "-q", await remote(site), "main", cwd=tree)
    large = tree / "large"
    large.write_bytes(random.Random(1).randbytes(3_000_000))
    await git("add", ".", cwd=tree)
    await git("commit", "-q", "-m", "More", cwd=tree)
    code, words = await try_git("push", await remote(site), ":main", "HEAD:refs/heads/other", cwd=tree)
    assert code != 0
    assert "! [remote rejected] main (The default branch of a project cannot be deleted.)" in words
    assert "! [remote rejected] HEAD -> other (The default branch of a project cannot be deleted.)" in words
    code, words = await try_git("push", await remote(site), f"HEAD:refs/heads/{'a' * 40}", cwd=tree)
    assert (code != 0, "40-character hexadecimal branch name" in words) == (True, True)
    repository = site.services.repositories.get(site.world.project_id)
    assert [ref.short_name for ref in await repository.branches()] == ["main"]
    assert len(await pipelines_of(site)) == 1
    async with site.services.database.read() as connection:
        notes = (await connection.execute(select(push_table.c.done_at))).scalars().all()
    assert [note is not None for note in notes] == [True], "what was refused is not noted"
    assert (await try_git("push", await remote(site), "main", cwd=tree))[0] == 0


async def test_a_repository_may_lie_in_groups_of_any_depth(site: Site) -> None:
    tree = await work_tree(site)
    await site.set_project(full_path="a/b/c/app")
    code, words = await try_git("push", await remote(site), "main", cwd=tree)
    assert code == 0, words
    await git("clone", "-q", await remote(site), site.folder / "copy", cwd=site.folder)
    async with site.client(site.root) as client:
        page = await client.get("/a/b/c/app/-/x.git/info/refs?service=git-upload-pack")
        nothing = await client.get("/a/b/app.git/info/refs?service=git-upload-pack")
    assert nothing.status_code == 401, "a stranger is asked who they are"
    assert page.status_code == 404


async def test_a_pipeline_that_cannot_be_made_now_is_made_later(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> list[str]:
        raise Unavailable("The compiler died.")

    tree = await work_tree(site)
    with monkeypatch.context() as broken:
        broken.setattr(push, "finish", away)
        code, words = await try_git("push", await remote(site), "main", cwd=tree)
    assert (code, "made later: The compiler died." in words) == (0, True), words
    assert await pipelines_of(site) == []
    await finish_abandoned(site.services, all_of_them=True)
    assert [made.ref for made in await pipelines_of(site)] == ["main"]
