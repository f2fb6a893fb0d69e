"""Steps of repositories: the right code at each revision, fetched once, and nothing from anywhere else."""

import subprocess
import threading
import time
from pathlib import Path

import pytest

from domain.errors import Invalid
from domain.steps.definition import Exec
from domain.steps.references import GitReference, read_reference
from steps.engine import fetched_place
from steps.engine.ending import Ended, Ending, Reason
from steps.engine.fetched_place import FetchedPlace
from steps.engine.git_steps import GitFinder, without_credentials

IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **IDENTITY},
    )
    return done.stdout.strip()


class Repository:
    """One with a step that says which version it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch=main")
        git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    def commit(self, version: str) -> str:
        """A commit; its name."""
        (self.folder / "steps/say").mkdir(parents=True, exist_ok=True)
        (self.folder / "steps/say/step.yml").write_text(f"{{}}\n---\nexec: {{command: [echo, '{version}']}}\n")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "--quiet", "-m", version)
        return git(self.folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "origin")


@pytest.fixture
def finder(tmp_path: Path) -> GitFinder:
    return GitFinder(tmp_path / "cache", Ending())


def version(finder: GitFinder, repository: Repository, rev: str) -> str:
    """What the step says at a revision."""
    found = finder.find(GitReference(repository.url, rev, "steps/say"), Path("/"))
    assert isinstance(found.definition.work, Exec)
    return found.definition.work.command[1]


def test_branches_tags_and_commits_are_what_they_say(finder: GitFinder, repository: Repository) -> None:
    first = repository.commit("1")
    git(repository.folder, "tag", "-a", "v1", "-m", "one")
    git(repository.folder, "branch", "feature/x")
    second = repository.commit("2")
    expected = {first: "1", "v1": "1", "feature/x": "1", second: "2", "main": "2", first[:10]: "1", second[:8]: "2"}
    assert {rev: version(finder, repository, rev) for rev in expected} == expected


def test_a_text_reference_names_the_folder_of_steps(finder: GitFinder, repository: Repository) -> None:
    repository.commit("1")
    found = finder.find(read_reference(f"{repository.url}/-/say/step.yml@main"), Path("/"))
    assert found.folder.name == "say"


def test_a_branch_moves_after_a_while_and_a_commit_never(
    finder: GitFinder, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repository.commit("1")
    assert version(finder, repository, "main") == "1"
    repository.commit("2")
    assert version(finder, repository, "main") == "1"
    monkeypatch.setattr(fetched_place, "FRESH", -1.0)
    assert version(finder, repository, "main") == "2"
    assert version(finder, repository, first) == "1"


def test_twenty_at_once_get_the_right_code_by_one_fetch_a_revision(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = [repository.commit("1"), repository.commit("2")]
    fetches: list[str] = []
    right = GitFinder._git

    def counted(self: GitFinder, url: str, *arguments: str, env: dict[str, str] | None = None) -> str:
        if "fetch" in arguments:
            fetches.append(arguments[-1])
        return right(self, url, *arguments, env=env)

    monkeypatch.setattr(GitFinder, "_git", counted)
    found: list[tuple[int, str]] = []

    def find(number: int) -> None:
        rev = commits[number % 2]
        found.append((number % 2, version(GitFinder(tmp_path / "cache", Ending()), repository, rev)))

    threads = [threading.Thread(target=find, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(0, "1")] * 10 + [(1, "2")] * 10
    assert sorted(fetches) == sorted(commits)


def test_a_checkout_that_died_is_made_anew(finder: GitFinder, repository: Repository) -> None:
    commit = repository.commit("1")
    version(finder, repository, commit)
    (place,) = finder.folder.iterdir()
    tree = place / "trees" / commit
    tree.rename(place / "trees/.draft-dead")
    assert version(finder, repository, commit) == "1"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (("{url}", "nowhere", "steps/say"), "cannot be fetched: fatal: couldn't find remote ref nowhere"),
        (("{url}", "0" * 40, "steps/say"), "cannot be fetched"),
        (("{url}", "deadbeef", "steps/say"), "cannot be fetched"),
        (("{url}", "main", "steps/other"), "there is no folder"),
        (("{url}", "main", "link"), "is a link that leads out of where the step is"),
        (("file:///nowhere/x", "main", "steps"), "file:///nowhere/x cannot be fetched"),
        (("ext::sh -c 'touch /tmp/x'", "main", "steps"), "cannot be fetched"),
    ],
)
def test_what_is_not_there_says_so(
    finder: GitFinder, repository: Repository, tmp_path: Path, reference: tuple[str, str, str], said: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/step.yml").write_text("{}\n---\nexec: {command: ['true']}\n")
    (repository.folder / "link").symlink_to(tmp_path / "outside")
    repository.commit("1")
    url, rev, directory = reference
    with pytest.raises(Invalid) as refused:
        finder.find(GitReference(url.format(url=repository.url), rev, directory), Path("/"))
    assert said in str(refused.value)


def test_credentials_are_in_no_message(finder: GitFinder) -> None:
    url = "https://name:s3cret@localhost:1/a/b"
    with pytest.raises(Invalid) as refused:
        finder.find(GitReference(url, "main"), Path("/"))
    assert "s3cret" not in str(refused.value)
    assert str(refused.value).startswith("https://localhost:1/a/b cannot be fetched")
    assert without_credentials("/srv/a@b") == "/srv/a@b"


def test_a_run_that_has_to_end_waits_for_no_fetch(tmp_path: Path, repository: Repository) -> None:
    """Somebody else fetches from the same repository."""
    repository.commit("1")
    ending = Ending(time.monotonic() + 0.2)
    finder = GitFinder(tmp_path / "cache", ending)
    other = GitFinder(tmp_path / "cache", Ending())
    version(other, repository, "main")
    (place,) = other.folder.iterdir()
    with FetchedPlace(place).locked(lambda: None), pytest.raises(Ended) as ended:
        version(finder, repository, "v9")
    assert ended.value.reason is Reason.TIMED_OUT
