"""Bare repositories on disk, found by project id; reading of refs, commits and files."""

import asyncio
import errno
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.errors import AmbiguousRef, Invalid, NotFound, TooLarge, Unavailable
from domain.projects.ref_names import HEADS, TAGS, is_full, short_name
from domain.text_lines import lines_of
from files import durable
from git.command import run
from git.names import checked_branch, checked_path, checked_ref, checked_sha, is_sha
from git.output import FILE_LIMIT
from git.reading.commit import COMMIT_FORMAT, Commit, parse_commit
from git.reading.ref_presence import has_ref

HIDDEN_FROM_PUSH: Final = (
    "refs/pipelines",
    "refs/keep-around",
    "refs/merge-requests",
    "refs/environments",
    "refs/mirror",
    "refs/replace",
)
"""Ref name spaces that only the server writes; a push that names one of them is denied by git."""

CONFIG: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    # An acknowledged push survives a power cut.
    ("core", "fsync", ("all",)),
    ("core", "fsyncMethod", ("fsync",)),
    ("core", "logAllRefUpdates", ("false",)),
    ("core", "hooksPath", (os.devnull,)),
    # Packing happens when the server says so, never in the middle of a push or a fetch.
    ("gc", "auto", ("0",)),
    ("receive", "autogc", ("false",)),
    ("http", "receivepack", ("true",)),
    ("receive", "denyNonFastForwards", ("false",)),
    ("receive", "fsckObjects", ("true",)),
    # What git itself wrote wrongly long ago does no harm, and no history can be rid of it; GitLab takes it too.
    ("receive.fsck", "badTimezone", ("ignore",)),
    ("receive.fsck", "missingSpaceBeforeDate", ("ignore",)),
    ("receive.fsck", "zeroPaddedFilemode", ("ignore",)),
    ("receive", "advertisePushOptions", ("true",)),
    ("receive", "hideRefs", HIDDEN_FROM_PUSH),
    # A job asks for its commit by sha, also when the branch has moved on.
    ("uploadpack", "allowAnySHA1InWant", ("true",)),
    ("uploadpack", "allowFilter", ("true",)),
)
"""Settings written into each new repository: section (`section.subsection`), name, values."""

_HEADER: Final = 256
"""Bytes of the line before an object, at most, and of its end."""
COMMIT_LIMIT: Final = 1024 * 1024
LOOSE_REFS: Final = 200
"""Refs that may be files of their own: each push and fetch reads all of them, 10,000 in 100 ms, packed in 5 ms."""
STALE_AFTER: Final = 3600.0
"""Seconds after which a lock file has certainly lost its owner; git holds one for milliseconds."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A ref: full name, the object it names, and the commit that object leads to (`sha`; same for branches)."""

    name: str
    object: str
    sha: str

    @property
    def short_name(self) -> str:
        """The name without `refs/heads/` or `refs/tags/`."""
        return short_name(self.name)


@dataclass(frozen=True, slots=True)
class Repository:
    """One bare repository; `path` is its folder."""

    path: Path

    async def resolve(self, ref: str) -> str | None:
        """The commit that a branch, tag, full ref name or (abbreviated) sha leads to; None if unknown.

        A full name, `HEAD` and its like, and 40 or 64 hex digits mean themselves, whatever branches and tags there are.
        Raises `Invalid` for a name that git forbids, `AmbiguousRef` for one that a branch and a tag have.
        """
        checked_ref(ref)
        if is_sha(ref) or is_full(ref):
            return await self._first_commit([ref])
        if not await has_ref(self.path, f"{TAGS}{ref}"):
            return self._loose_branch(ref) or await self._first_commit([f"{HEADS}{ref}", ref])
        if await has_ref(self.path, f"{HEADS}{ref}"):
            raise AmbiguousRef(ref)
        return await self._first_commit([f"{TAGS}{ref}", ref])

    async def _first_commit(self, places: Sequence[str]) -> str | None:
        question = "".join(f"{place}^{{commit}}\n" for place in places).encode()
        answer = await run([self._git_dir, "cat-file", "--batch-check=%(objectname)"], question)
        found = (line for line in lines_of(answer.out.decode("utf-8", "replace")) if is_sha(line))
        return next(found, None)

    async def object_ids(self, names: Sequence[str]) -> list[str]:
        """The ids of objects by names as in gitrevisions(7). Raises `NotFound` for one that is not there."""
        questions = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
        answer = await run([self._git_dir, "cat-file", "--batch-check=%(objectname)"], questions)
        ids = lines_of(answer.out.decode("utf-8", "replace"))
        for name, found in zip(names, ids, strict=True):
            if not is_sha(found):
                raise NotFound(f"The repository has no {name}.")
        return ids

    async def read_file(self, sha: str, path: str, limit: int = FILE_LIMIT) -> bytes | None:
        """One file of a commit; None when there is none (or a folder, or a submodule) at that path.

        Raises TooLarge above `limit` bytes, Invalid for a wrong sha or path.
        """
        question = f"{checked_sha(sha)}:{checked_path(path)}\n".encode()
        try:
            answer = await run([self._git_dir, "cat-file", "--batch"], question, limit=limit + _HEADER)
        except TooLarge:
            answer = await run([self._git_dir, "cat-file", "--batch-check"], question)
        header, _, content = answer.out.partition(b"\n")
        words = header.split(b" ")
        if not is_sha(words[0].decode("utf-8", "replace")) or words[1] != b"blob":
            return None
        size = int(words[2])
        if size > limit:
            raise TooLarge(f"{path} has {size} bytes; at most {limit} are read from a repository.")
        return content[:size]

    async def commit(self, sha: str) -> Commit:
        """One commit by its full sha. Raises NotFound when the repository has no such commit."""
        arguments = ["log", "-1", "--no-show-signature", "--no-mailmap", "--date=raw", f"--format={COMMIT_FORMAT}"]
        answer = await run([self._git_dir, *arguments, checked_sha(sha), "--"], limit=COMMIT_LIMIT, accept=(0, 128))
        if answer.code != 0:
            raise NotFound(f"The repository has no commit {sha}.")
        return parse_commit(answer.out)

    async def refs(self, prefix: str = "") -> tuple[Ref, ...]:
        """All refs whose full name starts with the folder `prefix`, in the order of their names."""
        pattern = [checked_ref(prefix)] if prefix else []
        form = "--format=%(refname)%00%(objectname)%00%(*objectname)"
        answer = await run([self._git_dir, "for-each-ref", form, *pattern])
        rows = (line.split("\0") for line in lines_of(answer.out.decode("utf-8", "replace")))
        return tuple(Ref(name, target, peeled or target) for name, target, peeled in rows)

    async def branches(self) -> tuple[Ref, ...]:
        """All branches."""
        return await self.refs("refs/heads")

    async def tags(self) -> tuple[Ref, ...]:
        """All tags; `sha` of an annotated one is the commit behind it."""
        return await self.refs("refs/tags")

    async def set_default_branch(self, branch: str) -> None:
        """Point HEAD at a branch, which need not exist yet."""
        await run([self._git_dir, "symbolic-ref", "HEAD", f"{HEADS}{checked_branch(branch)}"])
        await self.harden()

    async def keep(self, pipeline_id: int, sha: str) -> None:
        """Hold a pipeline's commit by `refs/pipelines/<id>`, so that a force-push never loses it. May be repeated.

        The caller has just read the commit. A ref is a file with a sha in it, so no git is started for it; this one
        never names another commit, so whoever packs it meanwhile loses nothing.
        """
        await asyncio.to_thread(_write_ref, self.path / "refs" / "pipelines" / str(int(pipeline_id)), checked_sha(sha))

    async def place(self, name: str, sha: str) -> None:
        """Let one of the refs that only the server writes name a commit that is there, wherever it was. Durable."""
        if not name.startswith(HIDDEN_FROM_PUSH):
            raise Invalid(f"{name} is not a ref of the server's own.")
        # By git, whose lock whoever packs refs heeds.
        await run([self._git_dir, "update-ref", checked_ref(name), checked_sha(sha)])
        await self.harden([name])

    def _loose_branch(self, ref: str) -> str | None:
        """A branch that stands in a file of its own, read without starting git."""
        try:
            text = (self.path / "refs" / "heads" / ref).read_text().strip()
        except (OSError, UnicodeDecodeError):
            return None
        return text if is_sha(text) else None

    async def harden(self, refs: Iterable[str] = ()) -> None:
        """Put the folders of the repository and of these refs on disk.

        git syncs the files it writes but not their renames; after this an update that git reported is durable.
        """
        folders = {self.path, self.path / "refs", self.path / "objects", self.path / "objects" / "pack"}
        for ref in refs:
            folders.update((self.path / ref).parents)
        inside = [folder for folder in folders if folder.is_relative_to(self.path)]
        await asyncio.to_thread(_sync_folders, inside)

    async def pack_refs(self, limit: int = LOOSE_REFS) -> bool:
        """Make lines of one file of all refs that are files of their own, where there are more; whether there were."""
        if await asyncio.to_thread(self._count_loose_refs) <= limit:
            return False
        await run([self._git_dir, "pack-refs", "--all"])
        await self.harden()
        return True

    def _count_loose_refs(self) -> int:
        return sum(len(names) for _, _, names in os.walk(self.path / "refs"))

    async def sweep(self, older_than: float = STALE_AFTER) -> int:
        """Remove lock files and half-received packs that a killed git left; how many. `older_than` is in seconds."""
        return await asyncio.to_thread(self._sweep, older_than)

    def _sweep(self, older_than: float) -> int:
        limit = time.time() - older_than
        found = [*self.path.glob("*.lock"), *(self.path / "refs").rglob("*.lock")]
        objects = self.path / "objects"
        found += [*objects.glob("tmp_objdir-*"), *objects.glob("??/tmp_obj_*"), *(objects / "pack").glob("tmp_*")]
        stale = [path for path in found if path.stat().st_mtime < limit]
        for path in stale:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        return len(stale)

    @property
    def _git_dir(self) -> str:
        return f"--git-dir={self.path}"


@dataclass(frozen=True, slots=True)
class Repositories:
    """All repositories below one folder, each at `<root>/<project id>.git`, so that a renamed project moves no file."""

    root: Path

    def path(self, project_id: int) -> Path:
        """Where a project's repository is or would be."""
        if project_id < 1:
            raise Invalid(f"{project_id} is not the id of a project.")
        return self.root / f"{int(project_id)}.git"

    async def title_of(self, project_id: int, sha: str) -> str:
        """The title of a commit; empty where it or the repository is gone."""
        try:
            return (await self.get(project_id).commit(sha)).title
        except NotFound:
            return ""

    def get(self, project_id: int) -> Repository:
        """A project's repository. Raises NotFound when there is none."""
        path = self.path(project_id)
        if not (path / "HEAD").is_file():
            raise NotFound(f"Project {project_id} has no repository.")
        return Repository(path)

    async def create(self, project_id: int, default_branch: str) -> Repository:
        """Make an empty repository, whole or not at all; one that exists is returned as it is.

        Raises Invalid for a wrong branch name, Unavailable when git or the disk fails.
        """
        path = self.path(project_id)
        checked_branch(default_branch)
        with suppress(NotFound):
            return self.get(project_id)
        draft = self.root / f".{project_id}-{uuid.uuid4().hex}"
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            await run(["init", "--quiet", "--bare", "--template=", f"--initial-branch={default_branch}", draft])
            await asyncio.to_thread(_finish, draft, path)
        except FileExistsError:
            return self.get(project_id)
        except OSError as error:
            raise Unavailable(f"The repository of project {project_id} cannot be made: {error}") from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return Repository(path)

    async def adopt(self, draft: Path, project_id: int) -> Repository:
        """Make a folder the repository of a project that has none. Raises `Unavailable`."""
        path = self.path(project_id)
        try:
            await asyncio.to_thread(_finish, draft, path)
        except OSError as error:
            raise Unavailable(f"The repository of project {project_id} cannot be made: {error}") from error
        return Repository(path)

    async def remove(self, project_id: int) -> None:
        """Remove a project's repository; none is fine, too. It has another name before its first file goes."""
        path = self.path(project_id)
        away = self.root / f".{project_id}-{uuid.uuid4().hex}"
        with suppress(FileNotFoundError):
            path.rename(away)
            await asyncio.to_thread(shutil.rmtree, away, ignore_errors=True)


def _write_ref(path: Path, sha: str) -> None:
    """Write a ref as git does: whole under another name, on disk, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.replace(path, f"{sha}\n".encode(), 0o644)


def _finish(draft: Path, path: Path) -> None:
    """Write the settings, sync everything and give the repository its name; FileExistsError if somebody was faster."""
    with (draft / "config").open("a", encoding="utf-8") as config:
        for section, name, values in CONFIG:
            outer, _, inner = section.partition(".")
            head = f'[{outer} "{inner}"]' if inner else f"[{outer}]"
            config.writelines(f"{head}\n\t{name} = {value}\n" for value in values)
    for file in draft.rglob("*"):
        if file.is_file():
            durable.sync_file(file)
    _sync_folders([draft, *(folder for folder in draft.rglob("*") if folder.is_dir())])
    try:
        draft.rename(path)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
            raise FileExistsError(path) from error
        raise
    durable.sync_folder(path.parent)


def _sync_folders(folders: Iterable[Path]) -> None:
    for folder in folders:
        # A folder of loose refs goes away when its last ref does.
        with suppress(FileNotFoundError, NotADirectoryError):
            durable.sync_folder(folder)
