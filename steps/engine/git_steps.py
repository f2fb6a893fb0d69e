"""Steps of git repositories: fetched once a revision, kept by address, revision and commit, and shared by all runs.

FOLDER/<digest of the address>/lock        held by whoever fetches
                              /repository  all that was fetched, without a working tree
                              /revisions/<name>   the commit that a branch or a tag was, and by its time when
                              /trees/<commit>     the files of a commit; made aside and renamed, so whole or absent
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from domain.errors import Invalid
from domain.steps.references import GitReference, Reference
from files.locks import is_taken
from steps.engine.ending import Ending
from steps.engine.finding import Found, found_in

FRESH: Final = 300.0
"""Seconds for which a branch or a tag is taken to be what it was; a commit stays what it is."""
FETCH_TIMEOUT: Final = 300.0
"""Seconds for one call of git."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PART_OF_COMMIT: Final = re.compile(r"[0-9a-f]{8,63}")
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s]*@")
_LOOK: Final = 0.05
MAX_NAME: Final = 255
"""Bytes of the name of a file."""
_SETTINGS: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.symlinks=true",
    "-c", "protocol.allow=never",
    "-c", "protocol.file.allow=always",
    "-c", "protocol.git.allow=always",
    "-c", "protocol.http.allow=always",
    "-c", "protocol.https.allow=always",
    "-c", "protocol.ssh.allow=always",
    "-c", "fetch.recurseSubmodules=false",
    "-c", "advice.detachedHead=false",
    "-c", "gc.auto=0",
)  # fmt: skip
_ENVIRONMENT: Final = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class GitFinder:
    """Finds them; `folder` is the cache, `ending` ends a fetch that takes too long for the run."""

    folder: Path
    ending: Ending

    def find(self, reference: Reference, folder: Path) -> Found:  # noqa: ARG002  # where a text stands is the same to it
        """The step at a revision. Raises `Invalid` that says what is missing, and `Ended`."""
        assert isinstance(reference, GitReference)
        tree = self._tree(reference.url, reference.rev)
        return found_in(tree / reference.directory, reference.file, tree)

    def _tree(self, url: str, rev: str) -> Path:
        place = self.folder / hashlib.sha256(url.encode()).hexdigest()[:32]
        if _COMMIT.fullmatch(rev) and (tree := place / "trees" / rev).is_dir():
            return tree
        with self._locked(place):
            commit = self._known(place, rev) or self._fetched(place, url, rev)
            return self._checked_out(place, commit)

    @contextmanager
    def _locked(self, place: Path) -> Iterator[None]:
        """One fetches, others wait and find what it has fetched."""
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not is_taken(fd):
                self.ending.check()
                time.sleep(_LOOK)
            yield
        finally:
            os.close(fd)

    def _known(self, place: Path, rev: str) -> str:
        if _COMMIT.fullmatch(rev) and (place / "trees" / rev).is_dir():
            return rev
        note = _note(place, rev)
        try:
            is_fresh = time.time() - note.stat().st_mtime < FRESH
            return note.read_text() if is_fresh else ""
        except FileNotFoundError:
            return ""

    def _fetched(self, place: Path, url: str, rev: str) -> str:
        repository = place / "repository"
        if not (repository / "HEAD").exists():
            self._git(url, "init", "--quiet", "--bare", str(repository))
        if _PART_OF_COMMIT.fullmatch(rev) and not _COMMIT.fullmatch(rev):
            commit = self._of_part(repository, url, rev)
        else:
            self._git(url, "-C", str(repository), "fetch", "--quiet", "--no-tags", "--depth=1", url, rev)
            commit = self._git(url, "-C", str(repository), "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")
        note = _note(place, rev)
        note.parent.mkdir(mode=0o700, exist_ok=True)
        note.write_text(commit)
        return commit

    def _of_part(self, repository: Path, url: str, rev: str) -> str:
        """A commit by the beginning of its name: no server tells that, so all is fetched."""
        refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        self._git(url, "-C", str(repository), "fetch", "--quiet", "--no-tags", url, *refs)
        return self._git(url, "-C", str(repository), "rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}")

    def _checked_out(self, place: Path, commit: str) -> Path:
        tree = place / "trees" / commit
        if tree.is_dir():
            return tree
        tree.parent.mkdir(mode=0o700, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=tree.parent))
        try:
            with tempfile.NamedTemporaryFile(dir=place) as index:
                environment = {"GIT_INDEX_FILE": index.name, "GIT_WORK_TREE": str(draft)}
                index.close()
                self._git("", "-C", str(place / "repository"), "read-tree", commit, env=environment)
                self._git("", "-C", str(place / "repository"), "checkout-index", "--all", "--force", env=environment)
            draft.rename(tree)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return tree

    def _git(self, url: str, *arguments: str, env: dict[str, str] | None = None) -> str:
        """What git says. Raises `Invalid` with its last word, without any credentials of the address."""
        command = ["git", *_SETTINGS, *arguments]
        environment = {**os.environ, **_ENVIRONMENT, **(env or {})}
        deadline = time.monotonic() + FETCH_TIMEOUT
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=error, env=environment, start_new_session=True
                )
            except OSError as fault:
                raise Invalid(f"git cannot be started: {fault.strerror}") from None
            try:
                while True:
                    try:
                        code = process.wait(_LOOK)
                        break
                    except subprocess.TimeoutExpired:
                        self.ending.check()
                        if time.monotonic() > deadline:
                            raise Invalid(f"git took longer than {FETCH_TIMEOUT:g} s") from None
            finally:
                if process.returncode is None:
                    process.kill()
                    process.wait()
            out.seek(0)
            error.seek(0)
            said = out.read().decode(errors="replace").strip()
            if code:
                word = _word(error.read().decode(errors="replace"))
                shown = without_credentials(url)
                raise Invalid(f"{shown} cannot be fetched: {word.replace(url, shown) if url else word}")
        return said


def _word(said: str) -> str:
    """The line of what git has said that tells why it ended; advice may follow it."""
    lines = said.strip().splitlines() or ["no reason given"]
    return next((line for line in lines if line.startswith("fatal: ")), lines[-1])


def _note(place: Path, rev: str) -> Path:
    """Where stands which commit a revision was; by a digest where its name is too long for a file."""
    name = quote(rev, safe="")
    if len(name) > MAX_NAME:
        name = f"sha256-{hashlib.sha256(rev.encode()).hexdigest()}"
    return place / "revisions" / name


def without_credentials(address: str) -> str:
    """An address without the name and the password that may stand in it, however strange it is otherwise."""
    return _CREDENTIALS.sub("", address, count=1)
