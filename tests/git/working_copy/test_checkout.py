"""Working copies as they occur: branches, tags, detached heads, clones, uncommitted work, and folders without git."""

import os
from pathlib import Path

import pytest

from domain.errors import Invalid, TooLarge, Unavailable
from git.working_copy import checkout as module
from git.working_copy.checkout import Checkout, Head
from tests.git.serving import git, new_commit, new_work_tree


@pytest.fixture
async def work(tmp_path: Path) -> Path:
    """A repository with one commit on main."""
    folder = tmp_path / "app"
    await new_work_tree(
        folder, {".gitlab-ci.yml": "a: 1", "src/a.py": "1", "docs/ä b.md": "1", ".gitignore": "*.log\n"}
    )
    return folder


async def sha_of(folder: Path, ref: str = "HEAD") -> str:
    return await git("rev-parse", ref, cwd=folder)


async def test_branch_commit_and_files(work: Path) -> None:
    sha = await sha_of(work)
    checkout = Checkout.find(work / "src")
    assert (checkout.root, checkout.is_repository) == (work, True)
    assert checkout.head == Head("main", sha)
    assert checkout.sha == sha
    assert checkout.commit is not None
    assert (checkout.commit.title, checkout.commit.author_name) == ("First", "Ada")
    assert Checkout.find(work / ".gitlab-ci.yml").root == work


async def test_detached_head_has_the_name_of_tag_or_branch(work: Path) -> None:
    first = await sha_of(work)
    await git("tag", "v1", cwd=work)
    second = await new_commit(work, {"b": "1"})
    third = await new_commit(work, {"c": "1"})
    for ref, head in (
        ("v1", Head("v1", first, is_tag=True, is_detached=True)),
        (second, Head("", second, is_detached=True)),
        (third, Head("main", third, is_detached=True)),
    ):
        await git("checkout", "-q", "--detach", ref, cwd=work)
        assert Checkout.find(work).head == head


async def test_repository_without_commit(tmp_path: Path) -> None:
    await git("init", "-q", "-b", "trunk", tmp_path / "new", cwd=tmp_path)
    (tmp_path / "new" / "a.yml").write_text("1")
    checkout = Checkout.find(tmp_path / "new")
    assert checkout.head == Head("trunk", "")
    assert (checkout.commit, checkout.base(), checkout.default_branch) == (None, None, "main")
    assert checkout.paths == ("a.yml",)


async def test_folder_without_git(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.yml").write_text("b")
    (tmp_path / "a.yml").write_text("a")
    checkout = Checkout.find(tmp_path)
    assert not checkout.is_repository
    assert (checkout.head, checkout.sha, checkout.commit, checkout.remote) == (None, "", None, "")
    assert checkout.paths == ("a.yml", "sub/b.yml")
    assert checkout.project_path == f"local/{tmp_path.name}"
    assert checkout.read("sub/b.yml") == b"b"
    assert checkout.resolve("main") is None
    with pytest.raises(Invalid, match="does not exist"):
        Checkout.find(tmp_path / "gone" / "deeper")


async def test_too_large_folder_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WALK_LIMIT", 2)
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(TooLarge, match="has more than 2 files; go to the folder of a project"):
        _ = Checkout.find(tmp_path).paths


async def test_inside_of_git_folder_counts_as_no_working_copy(work: Path) -> None:
    assert not Checkout.find(work / ".git").is_repository


async def test_broken_repository_is_told(work: Path) -> None:
    (work / ".git/config").write_text("[core]\n\trepositoryformatversion = 99\n")
    with pytest.raises(Invalid, match="git does not read"):
        Checkout.find(work)


async def test_missing_git_is_told(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Unavailable, match="git command is not on PATH"):
        Checkout.find(work)


async def test_variables_of_a_hook_do_not_lead_away(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await git("init", "-q", tmp_path / "other", cwd=tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    assert Checkout.find(work).root == work


async def test_paths_are_those_that_a_commit_of_everything_would_have(work: Path, tmp_path: Path) -> None:
    await new_work_tree(tmp_path / "inner", {"x": "1"})
    await git("-c", "protocol.file.allow=always", "submodule", "add", "-q", tmp_path / "inner", "sub", cwd=work)
    await new_commit(work, {})
    (work / "new file.yml").write_text("1")
    (work / "noise.log").write_text("1")
    (work / "src/a.py").unlink()
    (work / "link").symlink_to("src")
    await git("init", "-q", work / "nested", cwd=work)
    expected = (".gitignore", ".gitlab-ci.yml", ".gitmodules", "docs/ä b.md", "link", "new file.yml")
    assert Checkout.find(work).paths == expected
    await git("add", "--all", ":!nested", cwd=work)
    listed = await git("ls-files", "-z", cwd=work)
    assert set(listed.rstrip("\0").split("\0")) - {"sub"} == set(expected)


async def test_default_branch_by_remote_or_by_name(work: Path, tmp_path: Path) -> None:
    assert Checkout.find(work).default_branch == "main"
    await git("checkout", "-q", "-b", "trunk", cwd=work)
    await git("clone", "-q", work, tmp_path / "clone", cwd=tmp_path)
    await git("checkout", "-q", "-b", "main", cwd=tmp_path / "clone")
    assert Checkout.find(tmp_path / "clone").default_branch == "trunk"
    await git("branch", "-q", "-m", "main", "master", cwd=work)
    assert Checkout.find(work).default_branch == "master"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("git@host:group/sub/app.git", "group/sub/app"),
        ("host:group/app", "group/app"),
        ("https://user:pw@host:8443/group/app.git/", "group/app"),
        ("ssh://git@host:22/group/my%20app.git", "group/my app"),
        ("/srv/git/app.git", "local/app"),
        ("file:///srv/git/app.git", "local/app"),
        ("C:/git/app", "local/app"),
        ("https://host/app.git", "local/app"),
        ("https://[bad/group/app", "local/app"),
    ],
)
async def test_project_path_by_remote(work: Path, url: str, path: str) -> None:
    await git("remote", "add", "upstream", url, cwd=work)
    assert Checkout.find(work).project_path == path


async def test_origin_is_the_remote_that_counts(work: Path) -> None:
    await git("remote", "add", "fork", "git@host:me/app", cwd=work)
    assert Checkout.find(work).project_path == "me/app"
    await git("remote", "add", "origin", "git@host:group/app", cwd=work)
    assert Checkout.find(work).project_path == "group/app"


async def test_changes_of_a_branch_since_it_left_the_default_one(work: Path) -> None:
    left = await sha_of(work)
    await git("checkout", "-q", "-b", "feature", cwd=work)
    await new_commit(work, {"feature.py": "1"})
    await git("checkout", "-q", "main", cwd=work)
    await new_commit(work, {"main.py": "1"})
    await git("checkout", "-q", "feature", cwd=work)
    (work / "src/a.py").write_text("2")
    (work / "staged").write_text("1")
    await git("add", "staged", cwd=work)
    (work / "new").write_text("1")
    (work / "noise.log").write_text("1")
    checkout = Checkout.find(work)
    assert checkout.base() == left
    assert checkout.changed_since(left) == ("feature.py", "new", "src/a.py", "staged")


async def test_changes_of_the_default_branch_are_those_of_its_last_commit(work: Path) -> None:
    first = await sha_of(work)
    await git("mv", "src/a.py", "src/b.py", cwd=work)
    await new_commit(work, {"main.py": "1"})
    (work / "docs/ä b.md").unlink()
    checkout = Checkout.find(work)
    assert checkout.base() == first
    assert checkout.changed_since(first) == ("docs/ä b.md", "main.py", "src/a.py", "src/b.py")


async def test_first_commit_has_nothing_to_compare_with(work: Path) -> None:
    assert Checkout.find(work).base() is None


async def test_the_remotes_default_branch_counts_more_than_a_stale_local_one(work: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    await git("clone", "-q", work, clone, cwd=tmp_path)
    newer = await new_commit(work, {"newer": "1"})
    await git("fetch", "-q", cwd=clone)
    await git("checkout", "-q", "-b", "feature", "origin/main", cwd=clone)
    await new_commit(clone, {"feature": "1"})
    assert Checkout.find(clone).base() == newer


async def test_names_of_commits(work: Path, tmp_path: Path) -> None:
    sha = await sha_of(work)
    await git("tag", "-a", "v1", "-m", "x", cwd=work)
    await git("branch", "only-there", cwd=work)
    await git("clone", "-q", work, tmp_path / "clone", cwd=tmp_path)
    checkout = Checkout.find(tmp_path / "clone")
    for ref in ("main", "v1", "only-there", sha, sha[:10], "HEAD"):
        assert checkout.resolve(ref) == sha, ref
    for ref in ("none", "--all", "main~1", "a b", "", "0" * 40):
        assert checkout.resolve(ref) is None, ref


async def test_files_as_they_are_now_and_as_they_were(work: Path) -> None:
    first = await sha_of(work)
    (work / "src/a.py").write_text("2")
    checkout = Checkout.find(work)
    assert checkout.read("src/a.py") == b"2"
    assert checkout.read_at(first, "src/a.py") == b"1"
    for path in ("none", "src", "src/a.py/x", "../app/src/a.py", "/etc/passwd", ""):
        assert checkout.read(path) is None, path
        assert checkout.read_at(first, path) is None, path
    assert checkout.paths_at(first) == (".gitignore", ".gitlab-ci.yml", "docs/ä b.md", "src/a.py")


async def test_limits_of_files(work: Path) -> None:
    (work / "big").write_text("x" * 10)
    sha = await new_commit(work, {})
    checkout = Checkout.find(work)
    assert checkout.read("big", limit=10) == checkout.read_at(sha, "big", limit=10) == b"x" * 10
    with pytest.raises(TooLarge, match="big has more than 9 bytes"):
        checkout.read("big", limit=9)
    with pytest.raises(TooLarge, match="big has 10 bytes; at most 9"):
        checkout.read_at(sha, "big", limit=9)


async def test_links_lead_to_files_inside_only(work: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yml").write_text("secret")
    (work / "inside.yml").symlink_to("src/a.py")
    (work / "outside.yml").symlink_to("../secret.yml")
    (work / "folder").symlink_to(tmp_path)
    (work / "config.yml").symlink_to(".git/config")
    (work / "loop.yml").symlink_to("loop.yml")
    checkout = Checkout.find(work)
    assert checkout.read("inside.yml") == b"1"
    for path in ("outside.yml", "folder/secret.yml", "config.yml", ".git/config"):
        with pytest.raises(Invalid, match="leads out of the working copy"):
            checkout.read(path)
    with pytest.raises(Invalid, match="cannot be read"):
        checkout.read("loop.yml")


async def test_what_would_block_is_no_file(work: Path) -> None:
    os.mkfifo(work / "pipe.yml")
    assert Checkout.find(work).read("pipe.yml") is None


async def test_a_linked_work_tree_is_a_working_copy(work: Path, tmp_path: Path) -> None:
    await git("worktree", "add", "-q", "-b", "side", tmp_path / "side", cwd=work)
    checkout = Checkout.find(tmp_path / "side")
    assert checkout.root == tmp_path / "side"
    assert checkout.head is not None
    assert checkout.head.ref == "side"
    assert checkout.read("src/a.py") == b"1"


async def test_git_runs_no_program_that_the_repository_names(work: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (work / "program").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (work / "program").chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "diff.x.textconv"):
        await git("config", name, work / "program", cwd=work)
    (work / ".gitattributes").write_text("* diff=x\n")
    await git("-c", "core.fsmonitor=false", "add", ".", cwd=work)
    checkout = Checkout.find(work)
    assert checkout.changed_since(checkout.sha) == (".gitattributes", "program")
    assert "program" in checkout.paths
    assert checkout.commit is not None
    assert not marker.exists()
