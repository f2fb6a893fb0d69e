"""Answers the compiler's requests on the server: files of repositories, templates, remote files, what an event changed.

Everything is read with the permissions of the user whose event it is. Source: docs/reference/ci-yaml.md, "Includes",
"Changes and exists", "Limits".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from application.access import caller_from
from application.configurations.include_limits import DEFAULT_LIMITS, IncludeLimits, Spending
from application.configurations.parent_artifacts import ParentArtifacts
from application.configurations.readable_projects import DEFAULT, ReadableProject, ReadableProjects
from application.configurations.remote_includes import OUTSIDE, Fetch, RemoteIncludes
from application.services import Services
from auth.permissions import Caller
from domain.config.sources import (
    HERE,
    Absent,
    Answer,
    ArtifactFile,
    ChangedPaths,
    ComponentFile,
    Fetched,
    LocalFile,
    Origin,
    Paths,
    ProjectFile,
    RemoteFile,
    Request,
    TemplateFile,
    Tree,
)
from domain.errors import AmbiguousRef, Invalid, TooLarge
from git.reading.tree_reading import FileAt, TooBig, changed_between, list_files, merge_base, read_files_at
from git.repository import Repository
from includes import templates
from includes.components import read_address
from includes.remote_file import fetch
from models.repositories.pipelines.pipelines import PipelineRequest
from models.rows.accounts import UserRow
from models.rows.projects import ProjectRow

_Near: TypeAlias = LocalFile | ProjectFile | TemplateFile | ComponentFile | ArtifactFile | Tree | ChangedPaths
"""What is answered from this server's own disk."""
_NO_ARTIFACT: Final = "`include:artifact` is possible only in the configuration of a child pipeline."


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file of a repository is: the first of `paths` that exists. `found` has all but its text."""

    repository: Repository
    sha: str
    paths: tuple[str, ...]
    missing: str
    found: Fetched


class ConfigSources:
    """What one event's configuration may include; counts files, bytes and time over all rounds of compiling it."""

    def __init__(
        self,
        services: Services,
        here: ReadableProject,
        sha: str,
        caller: Caller,
        *,
        before_sha: str = "",
        parent: ParentArtifacts | None = None,
        limits: IncludeLimits = DEFAULT_LIMITS,
        remote: Fetch = fetch,
    ) -> None:
        """For a commit of the project `here`. `before_sha` is what a push has replaced; empty where nothing was.

        `parent` holds what `include:artifact` may read, for the configuration of a child pipeline.
        """
        assert here.repository is not None
        self._settings = services.settings
        self.key = f"user {caller.user_id}"
        """Whose share of the compiler this takes."""
        self._projects = ReadableProjects(services, caller)
        self._here = here
        self._repository: Repository = here.repository
        self._sha = sha
        self._before_sha = before_sha
        self._parent = parent
        self._spending = Spending(limits)
        self._remote = RemoteIncludes(self._spending, self._settings.sizes.config_bytes, remote)

    @classmethod
    def of_event(
        cls,
        services: Services,
        request: PipelineRequest,
        project: ProjectRow,
        user: UserRow,
        repository: Repository,
        parent_pipeline_id: int | None = None,
    ) -> "ConfigSources":
        """For the event that asks for a pipeline; `user` is who acts.

        Only a push to a branch that was there before has a commit to compare with, and a merge request: where its
        branch began, or what it was merged upon. For a child pipeline
        `parent_pipeline_id` is the pipeline of its bridge, whose jobs' artifacts `include:artifact` reads. The compiler
        must be told too: `Context(parent_job_artifacts=True)`, or it refuses such an include before it asks for it.
        Files of artifacts count as files of the project at the request's commit, so their own `include:local` looks
        there. What they say may differ at the same commit, so plans with one are never kept
        (`application.configurations.plan_cache`).
        """
        here = ReadableProject(project.full_path, project.default_branch, repository)
        before = request.before_sha if request.before_sha.strip("0") and not request.tag else ""
        if request.merge_request:
            before = request.merge_request["target_sha"] or request.merge_request["diff_base_sha"]
        caller = caller_from(user)
        parent = None if parent_pipeline_id is None else ParentArtifacts(services, parent_pipeline_id)
        return cls(services, here, request.sha, caller, before_sha=before, parent=parent)

    async def answer(self, request: Request) -> Answer:
        """The answer to one request."""
        return (await self.answer_all([request]))[request]

    async def answer_all(self, requests: Iterable[Request]) -> dict[Request, Answer]:
        """The answers to all requests: files of one repository are read together, remote files side by side."""
        answers: dict[Request, Answer] = {}
        places: dict[Request, _Place] = {}
        remote: list[RemoteFile] = []
        most = self._spending.limits.files
        for request in dict.fromkeys(requests):
            is_file = not isinstance(request, Tree | ChangedPaths)
            self._spending.files += is_file
            if is_file and self._spending.files > most:
                answers[request] = Absent(f"Maximum of {most} nested includes are allowed!")
            elif isinstance(request, RemoteFile):
                remote.append(request)
            elif isinstance(known := await self._known(request), _Place):
                places[request] = known
            else:
                answers[request] = known
        return answers | await self._read(places) | await self._remote.answers(remote)

    async def _known(self, request: _Near) -> Answer | _Place:
        """The answer, or where to read it."""
        match request:
            case LocalFile(path, origin):
                return await self._local(path, origin)
            case ProjectFile(project, path, ref):
                return await self._of_project(project, path, ref)
            case ComponentFile(address):
                return await self._component(address)
            case TemplateFile(name):
                text = templates.load(name)
                return Absent() if text is None else Fetched(text, OUTSIDE)
            case Tree(origin, project, ref):
                return await self._tree(origin, project, ref)
            case ChangedPaths(compare_to):
                return await self._changed(compare_to)
            case ArtifactFile():
                return await self._of_parent(request)

    async def _local(self, path: str, origin: Origin) -> Answer | _Place:
        if origin == HERE:
            return _Place(self._repository, self._sha, (path,), "", Fetched("", HERE))
        project = await self._projects.find(origin.project)
        if project is None or project.repository is None:
            return _denied(origin.project)
        return _Place(project.repository, origin.sha, (path,), "", Fetched("", origin))

    async def _of_project(self, path_of_project: str, path: str, ref: str) -> Answer | _Place:
        project = await self._projects.find(path_of_project)
        if project is None:
            return _denied(path_of_project)
        try:
            sha = await self._projects.commit(project, ref)
        except AmbiguousRef as error:
            return Absent(f"Project `{path_of_project}`: {error}")
        if sha is None or project.repository is None:
            return Absent(f"Project `{path_of_project}` reference `{ref or DEFAULT}` does not exist!")
        missing = f"Project `{path_of_project}` file `{path}` does not exist!"
        return _Place(project.repository, sha, (path,), missing, Fetched("", Origin(project.path, sha)))

    async def _component(self, text: str) -> Answer | _Place:
        try:
            address = read_address(text)
        except Invalid as error:
            return Absent(str(error))
        own = urlsplit(self._settings.url.lower())
        if address.host not in {own.netloc, own.hostname}:
            return Absent(address.error(f"unsupported path; only components of this server ({own.netloc}) can be used"))
        project = await self._projects.find(address.project)
        if project is None:
            return Absent(address.error("the project does not exist, or you have no permission to read it"))
        try:
            version = await self._projects.version(project, address.version)
        except AmbiguousRef as error:
            return Absent(address.error(str(error)))
        except TooLarge as error:
            return Absent(address.error(f"its versions cannot be listed: {error}"))
        if version is None or project.repository is None:
            return Absent(address.error(f"content not found; the project has no version `{address.version}`"))
        found = Fetched("", Origin(project.path, version.sha), version.sha, version.tag, address.name, address.version)
        missing = address.error(f"content not found; there is neither {address.paths[0]} nor {address.paths[1]}")
        return _Place(project.repository, version.sha, address.paths, missing, found)

    async def _of_parent(self, request: ArtifactFile) -> Answer:
        if self._parent is None:
            return Absent(_NO_ARTIFACT)
        found = await self._parent.answer(request, min(self._settings.sizes.config_bytes, self._spending.room))
        if isinstance(found, Fetched):
            self._spending.size += len(found.text.encode())
        return found

    async def _tree(self, origin: Origin, path: str, ref: str) -> Answer:
        """The paths of the origin, or of the project `path`, which only `rules:exists` asks for."""
        if path:
            project = await self._projects.find(path)
            if project is None:
                return Absent(f"rules:exists:project `{path}` is not a valid project path")
            try:
                sha = await self._projects.commit(project, ref)
            except AmbiguousRef as error:
                return Absent(f"rules:exists:ref in project `{path}`: {error}")
            if sha is None or project.repository is None:
                return Absent(f"rules:exists:ref `{ref or DEFAULT}` is not a valid ref in project `{path}`")
            return await _paths(project.repository, sha)
        if origin == HERE:
            return await _paths(self._repository, self._sha)
        project = await self._projects.find(origin.project)
        if project is None or project.repository is None:
            return _denied(origin.project)
        return await _paths(project.repository, origin.sha)

    async def _changed(self, compare_to: str) -> Answer:
        base: str | None = self._before_sha
        if compare_to:
            try:
                other = await self._here.resolve(compare_to)
            except AmbiguousRef as error:
                return Absent(str(error))
            if other is None:
                return Absent()
            base = await merge_base(self._repository, other, self._sha) or other
        try:
            paths = await changed_between(self._repository, base, self._sha) if base else None
        except TooLarge:
            # So many paths would match anything: GitLab stops comparing at 50,000 and takes them as changed.
            paths = None
        return Paths(known=False) if paths is None else Paths(paths)

    async def _read(self, places: Mapping[Request, _Place]) -> dict[Request, Answer]:
        """Read all files, repository by repository."""
        contents: dict[tuple[Repository, FileAt], bytes | TooBig | None] = {}
        for repository in dict.fromkeys(place.repository for place in places.values()):
            mine = [place for place in places.values() if place.repository == repository]
            wanted = [FileAt(place.sha, path) for place in mine for path in place.paths]
            left = self._spending.room
            read = await read_files_at(repository, wanted, self._settings.sizes.config_bytes, left)
            contents |= {(repository, file): content for file, content in read.items()}
            self._spending.size += sum(len(content) for content in read.values() if isinstance(content, bytes))
        return {
            request: self._read_answer(place, [contents[place.repository, FileAt(place.sha, p)] for p in place.paths])
            for request, place in places.items()
        }

    def _read_answer(self, place: _Place, contents: Sequence[bytes | TooBig | None]) -> Answer:
        for path, content in zip(place.paths, contents, strict=True):
            if isinstance(content, TooBig):
                return Absent(self._too_big(path, content.size))
            if content is None:
                continue
            try:
                return replace(place.found, text=content.decode())
            except UnicodeDecodeError as error:
                return Absent(f"`{path}` is not UTF-8 text (byte {error.start}).")
        return Absent(place.missing)

    def _too_big(self, path: str, size: int) -> str:
        if size > self._settings.sizes.config_bytes:
            return f"`{path}` has {size:,} bytes; the limit of a file is {self._settings.sizes.config_bytes:,}."
        return f"`{path}` is too much: all files together may have {self._spending.limits.total:,} bytes."


async def _paths(repository: Repository, sha: str) -> Answer:
    try:
        return Paths(await list_files(repository, sha))
    except (Invalid, TooLarge) as error:
        return Absent(str(error))


def _denied(project: str) -> Absent:
    """Whether it does not exist or is forbidden is the same for whoever may not see it."""
    return Absent(f"Project `{project}` not found or access denied!")
