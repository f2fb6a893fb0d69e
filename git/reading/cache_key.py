"""Digests of files at a commit: they name caches that are to change when those files do.

Source: docs/reference/ci-yaml.md, "Cache". A digest is the SHA-1 of git's ids, sorted, each once, joined by `-`.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from domain.config.including.wildcards import has_wildcard, is_too_long, matching
from domain.config.rules.globs import PathText
from domain.errors import Invalid
from domain.text_lines import lines_of
from git.command import run, run_and_read
from git.names import checked_path, checked_sha, is_sha
from git.output import Completed
from git.repository import Repository

TREE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a list of files that are read to find those that fit a pattern."""


async def digest_of_files(repository: Repository, sha: str, files: Iterable[str]) -> str | None:
    """The digest of what the files hold at a commit; None when there is none of them.

    A path may have stars, which mean what they mean in `include:local`; too many of them, and paths that no repository
    can have, are taken for missing ones. A folder counts with all it holds. Raises Invalid for a wrong sha, TooLarge
    when there are more files to look through than can be listed.
    """
    paths = _usable(files)
    ids = await _ids(repository, checked_sha(sha), [path for path in paths if not has_wildcard(path)])
    for pattern in paths:
        if has_wildcard(pattern) and not is_too_long(pattern):
            ids |= await _ids_like(repository, sha, pattern)
    return _digest(ids)


async def digest_of_commits(repository: Repository, sha: str, files: Iterable[str]) -> str | None:
    """The digest of the last commits, up to this one, that changed the files; None when none ever did.

    A path has no stars here. Raises Invalid for a wrong sha.
    """
    checked_sha(sha)
    ids = {await _last_commit(repository, sha, path) for path in _usable(files)}
    return _digest(ids - {""})


def _usable(files: Iterable[str]) -> list[str]:
    return [path for path in dict.fromkeys(files) if _is_usable(path)]


def _is_usable(path: str) -> bool:
    try:
        checked_path(path)
    except Invalid:
        return False
    return True


async def _ids(repository: Repository, sha: str, paths: list[str]) -> set[str]:
    """Ids of the files and folders that exist."""
    if not paths:
        return set()
    questions = "".join(f"{sha}:{path}\n" for path in paths).encode()
    answer = await run([f"--git-dir={repository.path}", "cat-file", "--batch-check=%(objectname)"], questions)
    return {line for line in lines_of(answer.out.decode("utf-8", "replace")) if is_sha(line)}


async def _ids_like(repository: Repository, sha: str, pattern: str) -> set[str]:
    """Ids of the files that fit a pattern with stars; only the folder before its first star is looked through."""
    folder = pattern[: pattern.index("*")].rpartition("/")[0]
    inside = ["--", f"{folder}/"] if folder else []
    listing = ["--literal-pathspecs", f"--git-dir={repository.path}", "ls-tree", "-r", "-z", "--full-tree", sha]

    def read(answer: Completed) -> set[str]:
        rows = answer.out.decode("utf-8", "surrogateescape").split("\0")
        ids = {path: about.split(" ")[2] for about, _, path in (row.partition("\t") for row in rows if row)}
        return {ids[path] for path in matching(pattern, PathText.of(tuple(ids)))}

    return await run_and_read([*listing, *inside], read, limit=TREE_LIMIT)


async def _last_commit(repository: Repository, sha: str, path: str) -> str:
    """The id of a commit, empty when no commit ever held the path."""
    arguments = ["--literal-pathspecs", f"--git-dir={repository.path}", "rev-list", "-1", sha, "--", path]
    return (await run(arguments)).out.decode().strip()


def _digest(ids: set[str]) -> str | None:
    return hashlib.sha1("-".join(sorted(ids)).encode(), usedforsecurity=False).hexdigest() if ids else None
