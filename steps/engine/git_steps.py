"""Steps of git repositories: fetched once a revision, kept by address, revision and commit, and shared by all runs.

FOLDER/<digest of the address>/repository  all that was fetched, without a working tree; the rest is `FetchedPlace`'s
"""

import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.errors import Invalid
from domain.steps.references import GitReference, Reference
from steps.engine.ending import Ending
from steps.engine.fetched_place import FetchedPlace
from steps.engine.finding import Found, found_in
from steps.engine.programs import call

FETCH_TIMEOUT: Final = 300.0
"""Seconds for one call of git."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PART_OF_COMMIT: Final = re.compile(r"[0-9a-f]{8,63}")
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s]*@")
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
        place = FetchedPlace(self.folder / hashlib.sha256(url.encode()).hexdigest()[:32])
        if _COMMIT.fullmatch(rev) and (tree := place.tree(rev)).is_dir():
            return tree
        with place.locked(self.ending.check):
            commit = self._known(place, rev) or self._fetched(place, url, rev)
            return place.made(commit, lambda draft: self._check_out(place, commit, draft))

    def _known(self, place: FetchedPlace, rev: str) -> str:
        if _COMMIT.fullmatch(rev) and place.tree(rev).is_dir():
            return rev
        return place.known(rev)

    def _fetched(self, place: FetchedPlace, url: str, rev: str) -> str:
        repository = place.folder / "repository"
        if not (repository / "HEAD").exists():
            self._git(url, "init", "--quiet", "--bare", str(repository))
        if _PART_OF_COMMIT.fullmatch(rev) and not _COMMIT.fullmatch(rev):
            commit = self._of_part(repository, url, rev)
        else:
            self._git(url, "-C", str(repository), "fetch", "--quiet", "--no-tags", "--depth=1", url, rev)
            commit = self._git(url, "-C", str(repository), "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")
        place.note(rev, commit)
        return commit

    def _of_part(self, repository: Path, url: str, rev: str) -> str:
        """A commit by the beginning of its name: no server tells that, so all is fetched."""
        refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        self._git(url, "-C", str(repository), "fetch", "--quiet", "--no-tags", url, *refs)
        return self._git(url, "-C", str(repository), "rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}")

    def _check_out(self, place: FetchedPlace, commit: str, draft: Path) -> None:
        repository = str(place.folder / "repository")
        with tempfile.TemporaryDirectory(dir=place.folder) as aside:
            environment = {"GIT_INDEX_FILE": f"{aside}/index", "GIT_WORK_TREE": str(draft)}
            self._git("", "-C", repository, "read-tree", commit, env=environment)
            self._git("", "-C", repository, "checkout-index", "--all", "--force", env=environment)

    def _git(self, url: str, *arguments: str, env: dict[str, str] | None = None) -> str:
        """What git says. Raises `Invalid` with its last word, without any credentials of the address."""
        said = call(["git", *_SETTINGS, *arguments], {**_ENVIRONMENT, **(env or {})}, self.ending, FETCH_TIMEOUT)
        if said.code:
            shown = without_credentials(url)
            raise Invalid(f"{shown} cannot be fetched: {said.last_word.replace(url, shown) if url else said.last_word}")
        return said.output


def without_credentials(address: str) -> str:
    """An address without the name and the password that may stand in it, however strange it is otherwise."""
    return _CREDENTIALS.sub("", address, count=1)
