"""Digests of files and of their last commits."""

import hashlib
import os
from pathlib import Path

import pytest

from domain.errors import Invalid
from git.reading.cache_key import digest_of_commits, digest_of_files
from git.repository import Repository
from tests.git.serving import git, new_commit, new_work_tree

EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""What git calls a file without content."""


class Project:
    """A work tree beside the repository it is pushed to, and its commits, oldest first."""

    def __init__(self, repository: Repository, work: Path) -> None:
        self.repository = repository
        self.work = work
        self.commits: list[str] = []

    async def commit(self, files: dict[str, str]) -> str:
        make = new_commit if self.commits else new_work_tree
        self.commits.append(await make(self.work, files))
        await git("push", "-q", self.repository.path, "HEAD:main", cwd=self.work)
        return self.commits[-1]

    async def id_of(self, path: str) -> str:
        return await git("rev-parse", f"HEAD:{path}", cwd=self.work)


@pytest.fixture
async def project(repository: Repository, tmp_path: Path) -> Project:
    project = Project(repository, tmp_path / "work")
    await project.commit({"go.sum": "1", "ui/package.json": "{}", "ui/deep/package.json": "[]", "a [b]?.txt": "x"})
    return project


def sha1_of(*ids: str) -> str:
    return hashlib.sha1("-".join(sorted(set(ids))).encode()).hexdigest()


async def test_a_digest_is_of_blob_ids_and_not_of_names_or_order(project: Project) -> None:
    sha = project.commits[0]
    expected = sha1_of(await project.id_of("go.sum"), await project.id_of("ui/package.json"))
    assert await digest_of_files(project.repository, sha, ["go.sum", "ui/package.json"]) == expected
    assert await digest_of_files(project.repository, sha, ["ui/package.json", "go.sum", "gone", "go.sum"]) == expected


async def test_the_digest_changes_with_the_file_and_comes_back_with_it(project: Project) -> None:
    second = await project.commit({"go.sum": "2"})
    third = await project.commit({"go.sum": "1"})
    first_digest = await digest_of_files(project.repository, project.commits[0], ["go.sum"])
    assert await digest_of_files(project.repository, second, ["go.sum"]) != first_digest
    assert await digest_of_files(project.repository, third, ["go.sum"]) == first_digest


@pytest.mark.parametrize("path", ["gone", "", "/go.sum", "../go.sum", "a\nb", "ui/*.lock", "gone/*", "x" * 5000])
async def test_what_is_not_there_has_no_digest(project: Project, path: str) -> None:
    assert await digest_of_files(project.repository, project.commits[0], [path]) is None


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.sum", ["go.sum"]),
        ("ui/*.json", ["ui/package.json"]),
        ("**/package.json", ["ui/package.json", "ui/deep/package.json"]),
        ("u**package.json", ["ui/package.json", "ui/deep/package.json"]),
        ("ui/**", ["ui/package.json", "ui/deep/package.json"]),
        ("ui/*/package.json", ["ui/deep/package.json"]),
        ("a [b]?.*", ["a [b]?.txt"]),
        ("*o*.*m", ["go.sum"]),
    ],
)
async def test_stars_stand_for_files(project: Project, pattern: str, paths: list[str]) -> None:
    expected = sha1_of(*[await project.id_of(path) for path in paths])
    assert await digest_of_files(project.repository, project.commits[0], [pattern]) == expected


async def test_last_commits_count_when_files_may_be_equal(project: Project) -> None:
    first, second = project.commits[0], await project.commit({"go.sum": "2"})
    third = await project.commit({"other": "1"})
    assert await digest_of_commits(project.repository, third, ["go.sum"]) == sha1_of(second)
    assert await digest_of_commits(project.repository, first, ["go.sum"]) == sha1_of(first)
    assert await digest_of_commits(project.repository, third, ["other", "go.sum", "gone"]) == sha1_of(second, third)
    assert await digest_of_commits(project.repository, third, ["gone", "../x", "*.sum", ":/go.sum"]) is None


async def test_a_wrong_commit_is_an_error(project: Project) -> None:
    with pytest.raises(Invalid):
        await digest_of_files(project.repository, "main", ["go.sum"])
    with pytest.raises(Invalid):
        await digest_of_commits(project.repository, "--all", ["go.sum"])


async def test_a_pattern_of_too_many_stars_is_taken_for_a_missing_file(project: Project) -> None:
    evil = "**u" * 100
    assert await digest_of_files(project.repository, project.commits[0], [evil]) is None
    expected = sha1_of(await project.id_of("go.sum"))
    assert await digest_of_files(project.repository, project.commits[0], [evil, "go.sum"]) == expected


async def test_names_that_are_not_utf_8_are_found_too(project: Project) -> None:
    (project.work / "u").mkdir()
    os.close(os.open(os.fsencode(project.work / "u") + b"/\xff.lock", os.O_CREAT))
    sha = await project.commit({"u/b.lock": "b"})
    expected = sha1_of(await project.id_of("u/b.lock"), EMPTY_BLOB)
    assert await digest_of_files(project.repository, sha, ["u/*.lock"]) == expected
