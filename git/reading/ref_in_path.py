"""Addresses name a ref and a path within it without a mark between: the longest name that is one is meant."""

from dataclasses import dataclass

from domain.errors import AmbiguousRef
from domain.projects.ref_names import HEADS, TAGS
from git.reading.revision import commit_named
from git.repository import Repository


@dataclass(frozen=True, slots=True)
class RefInPath:
    """A ref as it was written, the commit that it leads to, and what follows: "" for nothing."""

    name: str
    sha: str
    path: str


async def ref_in_path(repository: Repository, text: str) -> RefInPath | None:
    """Take `feature/login/docs/a.md` apart; None when no branch, tag or commit has a name with which it begins.

    `refs/heads/feature/login/docs/a.md` names the branch alone. Raises `AmbiguousRef`.
    """
    text = text.strip("/")
    refs = (*await repository.tags(), *await repository.branches())
    full = {ref.name: ref.sha for ref in refs}
    names = {ref.short_name: ref.sha for ref in refs} | full
    known = [name for name in names if text == name or text.startswith(f"{name}/")]
    if known:
        name = max(known, key=len)
        if name not in full and all(f"{kind}{name}" in full for kind in (HEADS, TAGS)):
            raise AmbiguousRef(name)
        return RefInPath(name, names[name], text.removeprefix(name).strip("/"))
    name, _, path = text.partition("/")
    sha = await commit_named(repository, name) if name else None
    if sha is None:
        sha, name, path = await commit_named(repository, text), text, ""
    return None if sha is None else RefInPath(name, sha, path.strip("/"))
