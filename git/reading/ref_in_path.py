"""Addresses name a ref and a path within it without a mark between: the longest name that is one is meant."""

from dataclasses import dataclass

from git.reading.revision import commit_named
from git.repository import Repository


@dataclass(frozen=True, slots=True)
class RefInPath:
    """A ref as it was written, the commit that it leads to, and what follows: "" for nothing."""

    name: str
    sha: str
    path: str


async def ref_in_path(repository: Repository, text: str) -> RefInPath | None:
    """Take `feature/login/docs/a.md` apart; None when no branch, tag or commit has a name with which it begins."""
    text = text.strip("/")
    names = {ref.short_name: ref.sha for ref in (*await repository.tags(), *await repository.branches())}
    known = [name for name in names if text == name or text.startswith(f"{name}/")]
    if known:
        name = max(known, key=len)
        return RefInPath(name, names[name], text.removeprefix(name).strip("/"))
    name, _, path = text.partition("/")
    sha = await commit_named(repository, name) if name else None
    if sha is None:
        sha, name, path = await commit_named(repository, text), text, ""
    return None if sha is None else RefInPath(name, sha, path.strip("/"))
