"""A working copy on this machine: where it stands, what it holds, and what changed in it.

For the command line, which compiles configurations that nobody has pushed yet. A folder that is no git repository
works too: it has files and nothing else.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from domain.errors import Invalid, TooLarge
from git.names import checked_path, checked_ref, is_sha
from git.output import FILE_LIMIT, OUTPUT_LIMIT, PATHS_LIMIT
from git.reading.commit import COMMIT_FORMAT, Commit, parse_commit
from git.transport.remote_url import project_path_of, server_of
from git.working_copy.local_command import line_in, paths_in, run_in

WALK_LIMIT: Final = 200_000
"""Files of a folder without git; more are most likely not a project but a whole disk."""
_SUBMODULE: Final = "160000"
"""The mode of a commit in a tree."""
_NO_REPOSITORY: Final = ("not a git repository", "must be run in a work tree")


@dataclass(frozen=True, slots=True)
class Head:
    """What is checked out. `ref` is a branch or (`is_tag`) a tag; empty for a commit that neither leads to."""

    ref: str
    sha: str
    is_tag: bool = False
    is_detached: bool = False


class Checkout:
    """A working copy at `root`; what it says is read when it is first asked for, and kept."""

    def __init__(self, root: Path, *, is_repository: bool) -> None:
        """A folder that is known to be the top of a working copy, or to be in none."""
        self.root = root
        self.is_repository = is_repository

    @classmethod
    def find(cls, path: Path) -> "Checkout":
        """The working copy around a file or folder, or the folder alone when there is none.

        Raises `Invalid` when the folder does not exist, or git refuses to look at it (as in "dubious ownership").
        """
        folder = path if path.is_dir() else path.parent
        if not folder.is_dir():
            raise Invalid(f"{path} does not exist.")
        done = run_in(folder, "rev-parse", "--show-toplevel")
        if not done.code:
            return cls(Path(done.out.decode("utf-8", "surrogateescape").removesuffix("\n")), is_repository=True)
        if not any(words in done.err for words in _NO_REPOSITORY):
            raise Invalid(f"git does not read {folder}: {done.err}")
        return cls(folder.resolve(), is_repository=False)

    @cached_property
    def head(self) -> Head | None:
        """What is checked out; None without git. `sha` is empty before the first commit."""
        if not self.is_repository:
            return None
        sha = line_in(self.root, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        branch = line_in(self.root, "symbolic-ref", "--quiet", "--short", "HEAD")
        if branch:
            return Head(branch, sha)
        tag = line_in(self.root, "describe", "--exact-match", "--tags", "HEAD")
        if tag:
            return Head(tag, sha, is_tag=True, is_detached=True)
        form = "--format=%(refname:lstrip=2)"
        local = line_in(self.root, "for-each-ref", form, "--count=1", "--points-at=HEAD", "refs/heads")
        return Head(local or self._remote_branch_at_head(), sha, is_detached=True)

    @property
    def sha(self) -> str:
        """The commit that is checked out; empty when there is none."""
        return self.head.sha if self.head else ""

    @cached_property
    def remote(self) -> str:
        """Name of the remote: `origin`, or else the first one; empty when there is none."""
        names = line_in(self.root, "remote").split("\n") if self.is_repository else [""]
        return "origin" if "origin" in names else names[0]

    @cached_property
    def default_branch(self) -> str:
        """The remote's default branch as far as it is known here; else `main` or `master`, whichever exists."""
        known = f"refs/remotes/{self.remote}/"
        named = line_in(self.root, "symbolic-ref", "--quiet", f"{known}HEAD") if self.remote else ""
        if named.startswith(known):
            return named.removeprefix(known)
        return next((name for name in ("main", "master") if self.resolve(name)), "main")

    @cached_property
    def project_path(self) -> str:
        """Full path of the project, by the remote's address; `local/<folder>` when that does not say it."""
        return project_path_of(self.remote_url) or f"local/{self.root.name or 'project'}"

    @cached_property
    def server_url(self) -> str:
        """Address of the server behind the remote, without a slash at its end; empty when it does not say that."""
        return server_of(self.remote_url)

    @cached_property
    def remote_url(self) -> str:
        """Address of the remote, empty when there is none."""
        return line_in(self.root, "remote", "get-url", self.remote) if self.remote else ""

    @cached_property
    def commit(self) -> Commit | None:
        """Message, author and times of the commit that is checked out; None when there is none."""
        if not self.sha:
            return None
        return parse_commit(run_in(self.root, "log", "-1", "--date=raw", f"--format={COMMIT_FORMAT}", self.sha).out)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Every file of the working copy that git does not ignore, whether it is committed or not; sorted.

        Raises `TooLarge` for a folder without git that has more than `WALK_LIMIT` files.
        """
        if not self.is_repository:
            return tuple(sorted(self._walked()))
        entries = (entry.split("\t", 1) for entry in self._listed("--stage"))
        tracked = {path for mode, path in entries if not mode.startswith(_SUBMODULE)}
        return tuple(sorted((tracked - set(self._listed("--deleted"))) | set(self._untracked())))

    def resolve(self, ref: str) -> str | None:
        """The commit of a branch (of the remote too), tag or sha; None if there is none, or the name is none."""
        try:
            checked_ref(ref)
        except Invalid:
            return None
        places = (f"refs/heads/{ref}", f"refs/tags/{ref}", f"refs/remotes/{self.remote}/{ref}", ref)
        found = (line_in(self.root, "rev-parse", "--quiet", "--verify", f"{place}^{{commit}}") for place in places)
        return next(filter(is_sha, found), None) if self.is_repository else None

    def base(self) -> str | None:
        """The commit to compare with: where the branch left the default branch, or else the commit before.

        None when there is no such commit.
        """
        if self.head and self.head.ref and self.head.ref != self.default_branch and not self.head.is_tag:
            return self.common_ancestor(self._upstream_default())
        return self.resolve_parent()

    def resolve_parent(self) -> str | None:
        """The commit before the one that is checked out; None when there is none."""
        return (self.sha and line_in(self.root, "rev-parse", "--quiet", "--verify", f"{self.sha}~1")) or None

    def common_ancestor(self, sha: str | None) -> str | None:
        """The best common ancestor of a commit and the one that is checked out; None when they have none."""
        if not (sha and self.sha):
            return None
        return line_in(self.root, "merge-base", sha, self.sha) or None

    def changed_since(self, sha: str) -> tuple[str, ...]:
        """Paths that differ between a commit and the files as they are now, new ones included; sorted."""
        options = ("--no-ext-diff", "--no-textconv", "--name-only", "--no-renames", "-z")
        changed = paths_in(self.root, "diff", *options, sha, "--", limit=PATHS_LIMIT)
        return tuple(sorted({*changed, *self._untracked()}))

    def read(self, path: str, limit: int = FILE_LIMIT) -> bytes | None:
        """A file of the working copy as it is now; None when there is none at that path.

        Raises `Invalid` for a link that leads out of the working copy and for what cannot be read, `TooLarge` above
        `limit` bytes.
        """
        try:
            place = self.root / checked_path(path)
            real = place.resolve(strict=True)
        except (Invalid, FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, RuntimeError) as error:
            raise Invalid(f"{path} cannot be read: {error}") from error
        inside = real.is_relative_to(self.root.resolve())
        if not inside or ".git" in real.relative_to(self.root.resolve()).parts:
            raise Invalid(f"{path} leads out of the working copy; only files in it can be read.")
        return _read_regular(real, path, limit)

    def read_at(self, sha: str, path: str, limit: int = FILE_LIMIT) -> bytes | None:
        """A file of a commit; None when there is none at that path. Raises `TooLarge` above `limit` bytes."""
        try:
            name = f"{sha}:{checked_path(path)}"
        except Invalid:
            return None
        done = run_in(self.root, "cat-file", "blob", name, limit=max(limit, OUTPUT_LIMIT))
        if not done.code and len(done.out) > limit:
            raise TooLarge(f"{path} has {len(done.out):,} bytes; at most {limit:,} are read.")
        return None if done.code else done.out

    def paths_at(self, sha: str) -> tuple[str, ...]:
        """Every file of a commit."""
        entries = paths_in(self.root, "ls-tree", "-r", "-z", "--full-tree", sha, limit=PATHS_LIMIT)
        rows = (entry.split("\t", 1) for entry in entries)
        return tuple(path for kind, path in rows if " blob " in kind)

    def _upstream_default(self) -> str | None:
        """The default branch: the remote's, which is what counts there, or else the local one."""
        named = f"refs/remotes/{self.remote}/{self.default_branch}^{{commit}}"
        remote = line_in(self.root, "rev-parse", "--quiet", "--verify", named) if self.remote else ""
        return remote or self.resolve(self.default_branch)

    def _remote_branch_at_head(self) -> str:
        places = f"refs/remotes/{self.remote}"
        form = "--format=%(refname:lstrip=3)"
        found = line_in(self.root, "for-each-ref", form, "--points-at=HEAD", places).split("\n") if self.remote else []
        return next((name for name in found if name not in {"", "HEAD"}), "")

    def _listed(self, *options: str) -> tuple[str, ...]:
        return paths_in(self.root, "ls-files", "-z", *options, limit=PATHS_LIMIT)

    def _untracked(self) -> Iterator[str]:
        """New files; a whole repository inside is shown as a folder and is none."""
        return (path for path in self._listed("--others", "--exclude-standard") if not path.endswith("/"))

    def _walked(self) -> Iterator[str]:
        count = 0
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".git"]
            count += len(names)
            if count > WALK_LIMIT:
                raise TooLarge(f"{self.root} has more than {WALK_LIMIT:,} files; go to the folder of a project.")
            yield from (Path(folder, name).relative_to(self.root).as_posix() for name in names)


def _read_regular(real: Path, path: str, limit: int) -> bytes | None:
    """A file's bytes; None for a folder or anything that would block."""
    try:
        if not stat.S_ISREG(real.stat().st_mode):
            return None
        with real.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.") from error
    if len(content) > limit:
        raise TooLarge(f"{path} has more than {limit:,} bytes, and no more are read.")
    return content
