"""What the compiler is told about a working copy."""

from pathlib import Path

import pytest

from domain.config.sources import (
    Absent,
    ArtifactFile,
    ChangedPaths,
    ComponentFile,
    Fetched,
    LocalFile,
    Origin,
    Paths,
    ProjectFile,
    RemoteFile,
    TemplateFile,
    Tree,
)
from git.working_copy.checkout import Checkout
from git.working_copy.checkout_answers import CheckoutAnswers
from tests.git.serving import git, new_commit, new_work_tree


@pytest.fixture
async def work(tmp_path: Path) -> Path:
    """A repository of project `group/app` with one commit, and an uncommitted change of `ci.yml`."""
    folder = tmp_path / "app"
    await new_work_tree(folder, {"ci.yml": "old", "b/c.yml": "c"})
    await git("remote", "add", "origin", "git@host:group/app.git", cwd=folder)
    (folder / "ci.yml").write_text("new")
    return folder


def answers(folder: Path) -> CheckoutAnswers:
    return CheckoutAnswers(Checkout.find(folder))


async def test_own_files_and_tree_are_those_of_now(work: Path) -> None:
    (work / "extra.yml").write_text("x")
    ask = answers(work).answer
    assert ask(LocalFile("ci.yml")) == Fetched("new")
    assert ask(LocalFile("none.yml")) == Absent()
    assert ask(LocalFile("b")) == Absent()
    assert ask(Tree()) == Paths(("b/c.yml", "ci.yml", "extra.yml"))


async def test_own_project_by_name_is_what_is_committed(work: Path) -> None:
    sha = await git("rev-parse", "HEAD", cwd=work)
    origin = Origin("group/app", sha)
    ask = answers(work).answer
    assert ask(ProjectFile("group/app", "ci.yml")) == Fetched("old", origin)
    assert ask(ProjectFile("Group/App", "ci.yml")) == Fetched("old", origin)
    assert ask(ProjectFile("group/app", "ci.yml", sha[:9])) == Fetched("old", origin)
    assert ask(LocalFile("b/c.yml", origin)) == Fetched("c", origin)
    assert ask(LocalFile("none.yml", origin)) == Absent()
    assert ask(Tree(origin)) == ask(Tree(project="group/app")) == Paths(("b/c.yml", "ci.yml"))
    assert ask(ProjectFile("group/app", "x.yml")) == Absent("Project `group/app` file `x.yml` does not exist!")
    missing = Absent("Project `group/app` reference `v9` does not exist!")
    assert ask(ProjectFile("group/app", "ci.yml", "v9")) == ask(Tree(project="group/app", ref="v9")) == missing


async def test_what_a_working_copy_cannot_know(work: Path, tmp_path: Path) -> None:
    other = Origin("group/other", "0" * 40)
    for request in (
        RemoteFile("https://host/x.yml"),
        TemplateFile("Python.gitlab-ci.yml"),
        ComponentFile("host/g/p/x@1"),
        ArtifactFile("x.yml", "job"),
        ProjectFile("group/other", "x.yml"),
        LocalFile("ci.yml", other),
        LocalFile("ci.yml", Origin(detached=True)),
        Tree(other),
        Tree(project="group/other"),
    ):
        assert answers(work).answer(request) is None, request


async def test_changed_paths(work: Path) -> None:
    assert answers(work).answer(ChangedPaths()) == Paths(known=False)
    await new_commit(work, {"d.yml": "d"})
    assert answers(work).answer(ChangedPaths()) == Paths(("ci.yml", "d.yml"))
    await git("checkout", "-q", "-b", "feature", cwd=work)
    await new_commit(work, {"e.yml": "e"})
    ask = answers(work).answer
    assert ask(ChangedPaths()) == ask(ChangedPaths("main")) == Paths(("e.yml",))
    assert ask(ChangedPaths("feature")) == Paths()
    assert ask(ChangedPaths("gone")) == Absent()
    assert ask(ChangedPaths("--all")) == Absent()


async def test_changed_paths_against_a_ref_without_common_history(work: Path) -> None:
    await git("checkout", "-q", "--orphan", "alone", cwd=work)
    await git("rm", "-q", "-r", "-f", "b", cwd=work)
    await new_commit(work, {})
    assert answers(work).answer(ChangedPaths("main")) == Paths(("b/c.yml", "ci.yml"))


async def test_folder_without_git(tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text("x")
    ask = answers(tmp_path).answer
    assert ask(LocalFile("ci.yml")) == Fetched("x")
    assert ask(Tree()) == Paths(("ci.yml",))
    assert ask(ChangedPaths()) == ask(ChangedPaths("main")) == Paths(known=False)
    assert ask(ProjectFile(f"local/{tmp_path.name}", "ci.yml")) is None


async def test_faults_of_files_are_told(work: Path, tmp_path: Path) -> None:
    (work / "latin.yml").write_bytes(b"a: \xe4")
    (work / "big.yml").write_bytes(b"#" * (2 * 1024 * 1024 + 1))
    (tmp_path / "outside.yml").touch()
    (work / "link.yml").symlink_to(tmp_path / "outside.yml")
    ask = answers(work).answer
    assert ask(LocalFile("latin.yml")) == Absent("The file is not UTF-8 text (byte 3).")
    assert ask(LocalFile("big.yml")) == Absent("big.yml has more than 2,097,152 bytes, and no more are read.")
    told = ask(LocalFile("link.yml"))
    assert isinstance(told, Absent)
    assert told.message.startswith("link.yml leads out of the working copy")
