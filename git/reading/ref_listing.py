"""Lists of branches and tags: sorted, merged, with the words of annotated tags."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.text_lines import lines_of
from git.command import run, run_and_read
from git.names import checked_sha
from git.output import PATHS_LIMIT, Completed
from git.reading.commit import time_of
from git.repository import Ref, Repository

_FIELDS: Final = 6
_FORM: Final = "%00".join(
    ("%(refname)", "%(objectname)", "%(*objectname)", "%(objecttype)", "%(taggerdate:raw)", "%(contents)", "")
)


@dataclass(frozen=True, slots=True)
class ListedRef:
    """A branch or tag. `message` and `tagged_at` are those of an annotated tag."""

    ref: Ref
    message: str = ""
    tagged_at: datetime | None = None

    @property
    def name(self) -> str:
        """The name without `refs/heads/` or `refs/tags/`."""
        return self.ref.short_name


async def list_refs(repository: Repository, folder: str, sort: str = "refname") -> list[ListedRef]:
    """All refs below `refs/heads` or `refs/tags` by a key of git's for-each-ref(1), such as `-committerdate`."""
    git = [f"--git-dir={repository.path}", "for-each-ref", f"--format={_FORM}", f"--sort={sort}", folder]
    return await run_and_read(git, _all_listed, limit=PATHS_LIMIT)


def _all_listed(answer: Completed) -> list[ListedRef]:
    fields = answer.out.decode("utf-8", "replace").split("\0")[:-1]
    return [_listed(fields[at : at + _FIELDS]) for at in range(0, len(fields), _FIELDS)]


def _listed(fields: list[str]) -> ListedRef:
    name, target, peeled, kind, tagged, contents = fields
    ref = Ref(name.lstrip("\n"), target, peeled or target)
    if kind != "tag":
        return ListedRef(ref)
    return ListedRef(ref, contents.rstrip("\n"), time_of(tagged) if tagged else None)


async def find_ref(repository: Repository, name: str) -> ListedRef | None:
    """A ref by its full name, or None. The name must be one that git permits."""
    return next((found for found in await list_refs(repository, name) if found.ref.name == name), None)


async def merged_branches(repository: Repository, sha: str) -> frozenset[str]:
    """Short names of the branches whose commits a commit leads to, without those that stand at it."""
    form = "--format=%(objectname) %(refname)"
    git = [f"--git-dir={repository.path}", "for-each-ref", form, f"--merged={checked_sha(sha)}", "refs/heads"]
    rows = (
        line.split(" ", 1) for line in (await run(git, limit=PATHS_LIMIT)).out.decode("utf-8", "replace").split("\n")
    )
    return frozenset(row[1].removeprefix("refs/heads/") for row in rows if len(row) == 2 and row[0] != sha)


async def refs_with(repository: Repository, sha: str, folder: str) -> list[str]:
    """Short names of the refs below `refs/heads` or `refs/tags` that lead to a commit."""
    git = [f"--git-dir={repository.path}", "for-each-ref", "--format=%(refname)", f"--contains={checked_sha(sha)}"]
    out = (await run([*git, folder], limit=PATHS_LIMIT)).out.decode("utf-8", "replace")
    return [name.removeprefix(f"{folder}/") for name in out.split("\n") if name]


async def refs_within(repository: Repository, sha: str, folder: str) -> dict[str, str]:
    """The refs below a folder that a commit leads to: full names with the objects that they name."""
    form = "--format=%(refname) %(objectname)"
    git = [f"--git-dir={repository.path}", "for-each-ref", form, f"--merged={checked_sha(sha)}", folder]
    lines = lines_of((await run(git, limit=PATHS_LIMIT)).out.decode("utf-8", "replace"))
    return {name: target for name, _, target in (line.rpartition(" ") for line in lines)}
