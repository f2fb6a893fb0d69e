"""Other projects as the configuration of a pipeline may use them: those that its user can read, and no others.

What is missing and what is forbidden look the same. Names of commits are looked up once, so that all rounds of one
compilation see the same commit of a branch that moves meanwhile.
"""

from dataclasses import dataclass
from typing import Final

from application.access import access_to
from application.services import Services
from auth.permissions import Caller
from domain.errors import AmbiguousRef, Forbidden, Invalid, NotFound
from domain.projects.ref_names import HEADS, TAGS
from git.names import is_sha
from git.reading.ref_presence import has_ref
from git.repository import Repository
from includes.components import highest, is_range, is_release
from models.repositories.projects.project_paths import written_path

DEFAULT: Final = "HEAD"
"""What messages call the default branch."""


@dataclass(frozen=True, slots=True)
class Version:
    """A commit of a component's project; `tag` is its release, empty when it is none."""

    sha: str
    tag: str = ""


@dataclass(frozen=True, slots=True)
class ReadableProject:
    """A project that the caller can read; without a repository as long as nobody has pushed."""

    path: str
    default_branch: str
    repository: Repository | None

    async def resolve(self, ref: str) -> str | None:
        """The commit of a branch, tag or sha, empty for the default branch; None if there is none.

        Raises `AmbiguousRef`.
        """
        if self.repository is None:
            return None
        try:
            return await self.repository.resolve(ref or f"{HEADS}{self.default_branch}")
        except AmbiguousRef:
            raise
        except Invalid:
            return None

    async def version(self, text: str) -> Version | None:
        """The commit of a component's version: a sha, a tag or branch, or a range of releases, in this order.

        Raises `AmbiguousRef`.
        """
        if self.repository is None:
            return None
        sha = await self.resolve(text) if is_sha(text) else None
        if sha is None and (tagged := await self.resolve(f"{TAGS}{text}")):
            if await has_ref(self.repository.path, f"{HEADS}{text}"):
                raise AmbiguousRef(text)
            return Version(tagged, text if is_release(text) else "")
        sha = sha or await self.resolve(f"{HEADS}{text}")
        if sha is None and is_range(text):
            tags = {tag.short_name: tag.sha for tag in await self.repository.tags()}
            release = highest(tags, text)
            return None if release is None else Version(tags[release], release)
        sha = sha or await self.resolve(text)
        return None if sha is None else Version(sha)


class ReadableProjects:
    """The projects that one caller can read, by their full paths."""

    def __init__(self, services: Services, caller: Caller) -> None:
        """For one compilation."""
        self._services = services
        self._caller = caller
        self._found: dict[str, ReadableProject | None] = {}
        self._commits: dict[tuple[str, str], str | None] = {}
        self._versions: dict[tuple[str, str], Version | None] = {}

    async def find(self, path: str) -> ReadableProject | None:
        """A project, in whatever case; None when there is none, or the caller may not know of it."""
        if path not in self._found:
            self._found[path] = await self._look_up(path)
        return self._found[path]

    async def commit(self, project: ReadableProject, ref: str) -> str | None:
        """The commit of a ref in a project, the same one whenever it is asked for."""
        key = (project.path, ref)
        if key not in self._commits:
            self._commits[key] = await project.resolve(ref)
        return self._commits[key]

    async def version(self, project: ReadableProject, text: str) -> Version | None:
        """The commit of a component's version, the same one whenever it is asked for."""
        key = (project.path, text)
        if key not in self._versions:
            self._versions[key] = await project.version(text)
        return self._versions[key]

    async def _look_up(self, path: str) -> ReadableProject | None:
        async with self._services.database.read() as connection:
            written = await written_path(connection, path)
        try:
            row = (await access_to(self._services, self._caller, written or "")).row
        except (NotFound, Forbidden):
            return None
        try:
            repository = self._services.repositories.get(row.id)
        except NotFound:
            repository = None
        return ReadableProject(row.full_path, row.default_branch, repository)
