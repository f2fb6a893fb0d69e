"""Keys of caches that are named after files of the commit: found once, when the pipeline is made.

Source: docs/reference/ci-yaml.md, "Cache".
"""

from dataclasses import replace
from typing import Final, TypeAlias

from domain.config.plan import Cache, CacheKey, JobPlan, Plan
from git.reading.cache_key import digest_of_commits, digest_of_files
from git.repository import Repository

WITHOUT_FILES: Final = "default"
"""Takes the place of a digest when none of the files exists."""

Question: TypeAlias = tuple[str, ...]
"""How the files count (`files` or `files_commits`), then the files."""

_WAYS: Final = {"files": digest_of_files, "files_commits": digest_of_commits}


async def with_cache_keys(plan: Plan, repository: Repository, sha: str) -> Plan:
    """The plan with every key as text; git runs once for each set of files, and not at all without any.

    Raises what git raises: `Unavailable`, `TooLarge`, `Invalid`.
    """
    questions = {question for job in plan.jobs for cache in job.cache if (question := _question(cache.key))}
    if not questions:
        return plan
    digests = {
        question: await _WAYS[question[0]](repository, sha, question[1:]) or WITHOUT_FILES for question in questions
    }
    return replace(plan, jobs=tuple(_with_keys(job, digests) for job in plan.jobs))


def _with_keys(job: JobPlan, digests: dict[Question, str]) -> JobPlan:
    caches = tuple(_with_key(cache, position, digests) for position, cache in enumerate(job.cache))
    return replace(job, cache=caches) if caches != job.cache else job


def _with_key(cache: Cache, position: int, digests: dict[Question, str]) -> Cache:
    """Without a prefix, the cache's position and the names of its files keep caches apart, as in GitLab.

    Otherwise all whose files do not exist would be one.
    """
    question = _question(cache.key)
    if not question:
        return cache
    names = "_".join(_stem(file) for file in cache.key.files)
    prefix = cache.key.prefix or f"{position}_{names}".rstrip("_")
    return replace(cache, key=CacheKey(text=f"{prefix}-{digests[question]}"))


def _stem(file: str) -> str:
    """A file's name up to its first dot; a key is one part of an address."""
    return file.partition(".")[0].replace("/", "-")


def _question(key: CacheKey) -> Question:
    """What is asked of git for a key; empty for a key that is text."""
    if key.files:
        return ("files", *key.files)
    return ("files_commits", *key.files_commits) if key.files_commits else ()
