"""Keys of caches that are named after files of the commit."""

from pathlib import Path

import pytest

from application.pipelines.cache_keys import with_cache_keys
from domain.config.plan import Cache, CacheKey, JobPlan, Plan
from git.reading.cache_key import digest_of_commits, digest_of_files
from git.repository import Repositories, Repository
from tests.git.serving import git, new_work_tree

LOCKS = ("Gemfile.lock", "go.sum")


@pytest.fixture
async def filled(tmp_path: Path) -> tuple[Repository, str]:
    """A repository with a lock file, and its commit."""
    repository = await Repositories(tmp_path / "repositories").create(7, "main")
    sha = await new_work_tree(tmp_path / "work", {"Gemfile.lock": "rails", "app.rb": "puts"})
    await git("push", "-q", repository.path, "main", cwd=tmp_path / "work")
    return repository, sha


def plan_with(*keys: CacheKey) -> Plan:
    """A plan of one job with these caches."""
    return Plan(("test",), (JobPlan("a", "test", ("x",), cache=tuple(Cache(key) for key in keys)),))


async def test_the_digest_comes_after_the_prefix_or_the_position(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    by_files = CacheKey(files=LOCKS)
    plan = plan_with(
        by_files,
        by_files,
        CacheKey(files=LOCKS, prefix="$CI_JOB_NAME"),
        CacheKey(files_commits=("app.rb",), prefix="p"),
        CacheKey(files=("gone",)),
        CacheKey(files=("ui/package.lock.json",)),
        CacheKey(files_commits=("app.rb",)),
        CacheKey("text"),
    )
    files = await digest_of_files(repository, sha, LOCKS)
    commits = await digest_of_commits(repository, sha, ["app.rb"])
    made = await with_cache_keys(plan, repository, sha)
    names = "_".join(name.partition(".")[0] for name in LOCKS)
    assert [cache.key for cache in made.jobs[0].cache] == [
        CacheKey(f"0_{names}-{files}"),
        CacheKey(f"1_{names}-{files}"),
        CacheKey(f"$CI_JOB_NAME-{files}"),
        CacheKey(f"p-{commits}"),
        CacheKey("4_gone-default"),
        CacheKey("5_ui-package-default"),
        CacheKey(f"6-{commits}"),
        CacheKey("text"),
    ]


async def test_no_git_runs_for_a_plan_without_such_keys() -> None:
    plan = plan_with(CacheKey("text"))
    assert await with_cache_keys(plan, Repository(Path("/nonexistent")), "no commit") is plan
