"""Compiling without a server: the answers to what the compiler wants to know, from the disk and the internet."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from domain.config.context import Context
from domain.config.issue import ConfigIssue
from domain.config.plan import Plan
from domain.config.reading.parsed_files import ParsedFiles
from domain.config.rounds import in_rounds
from domain.config.sources import (
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
from domain.errors import ConfigInvalid, Invalid, PipelineFiltered
from git.working_copy.checkout_answers import CheckoutAnswers

AS_IT_LIES: Final = "folder"
"""In place of a commit, for files that are read from a folder."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a configuration comes to for one event: a plan, or an error (which for `PipelineFiltered` has a plan too).

    `known` are all files that were read, `file` is the main one. `skipped` says why no job is made at all, for a commit
    that asks for that.
    """

    context: Context
    file: str
    text: str
    plan: Plan | None = None
    error: ConfigInvalid | PipelineFiltered | None = None
    known: Mapping[Request, Answer] = field(default_factory=dict)
    skipped: str = ""

    @property
    def errors(self) -> tuple[ConfigIssue, ...]:
        """Everything that keeps the pipeline from being made."""
        if isinstance(self.error, ConfigInvalid):
            return self.error.issues
        return (ConfigIssue(str(self.error), file=self.file),) if self.error else ()

    @property
    def warnings(self) -> tuple[ConfigIssue, ...]:
        """What works, but is rarely meant."""
        return self.plan.warnings if self.plan else ()

    @property
    def reason(self) -> str:
        """GitLab's failure reason; empty if there is a pipeline."""
        if isinstance(self.error, PipelineFiltered):
            return self.error.reason
        return "config_error" if self.error else ""

    @property
    def status(self) -> str | None:
        """The status with which the pipeline would begin; None if none is made."""
        if self.error:
            return None
        return "skipped" if self.skipped else "created"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where answers come from.

    `projects` are folders that serve others, by their paths in lower case. `changed` is what the event changed, None
    for what the checkout says, compared with `base` or with what fits best.
    """

    here: CheckoutAnswers
    projects: Mapping[str, CheckoutAnswers] = field(default_factory=dict)
    changed: Paths | None = None
    base: str = ""
    remote: bool = True

    def answer(self, request: Request) -> Answer:
        """The answer to one request."""
        match request:
            case ChangedPaths(compare_to=compare_to):
                return self._changed(compare_to)
            case LocalFile(path=path, origin=origin):
                return self._file(origin.project, path, request, origin)
            case ProjectFile(project=project, path=path, ref=ref):
                return self._file(project, path, request, Origin(project, ref or AS_IT_LIES))
            case Tree(origin=origin, project=project):
                return self._asked(project or origin.project, Tree(), request)
            case ComponentFile(address=address):
                return self._component(address)
            case TemplateFile(name=name):
                return _template(name)
            case ArtifactFile(path=path, job=job):
                return Absent(f"`{path}` is an artifact of job `{job}`, and without a server no job has run.")
            case RemoteFile(url=url):
                return self._remote(url)

    def _changed(self, compare_to: str) -> Answer:
        """What the caller says counts for every comparison; that nothing is known of the event, only for the event."""
        if self.changed and (self.changed.known or not compare_to):
            return self.changed
        return self.here.answer(ChangedPaths(compare_to or self.base)) or Paths(known=False)

    def _file(self, project: str, path: str, request: LocalFile | ProjectFile, origin: Origin) -> Answer:
        answer = self._asked(project, LocalFile(path), request)
        if isinstance(answer, Fetched) and project.lower() in self.projects:
            return replace(answer, origin=origin)
        return answer

    def _asked(self, project: str, of_folder: LocalFile | Tree, request: LocalFile | ProjectFile | Tree) -> Answer:
        """From the folder that serves a project, or else from the checkout, which knows its own project's commits."""
        folder = self.projects.get(project.lower())
        answer = folder.answer(of_folder) if folder else self.here.answer(request)
        return answer or Absent(
            f"Project `{project}` is on a server, and this command asks none; "
            f"to read it from a folder of this machine, add `--project {project}=FOLDER`."
        )

    def _component(self, address: str) -> Answer:
        """From a folder any version is the one that lies there."""
        from includes.components import read_address

        try:
            component = read_address(address)
        except Invalid as error:
            return Absent(str(error))
        version = component.version
        answers = [self.answer(ProjectFile(component.project, path, version)) for path in component.paths]
        found = next((answer for answer in answers if isinstance(answer, Fetched)), None)
        if found is None:
            return answers[0]
        return replace(found, sha=version, version=version, name=component.name, reference=version)

    def _remote(self, url: str) -> Answer:
        if not self.remote:
            return Absent("This remote file was not fetched, since `--no-remote` forbids it.")
        import asyncio

        from includes.remote_file import fetch

        try:
            return Fetched(asyncio.run(fetch(url)), Origin(detached=True))
        except Invalid as error:
            return Absent(str(error))


def compiled(text: str, file: str, context: Context, sources: Sources, *, every_job: bool = False) -> Outcome:
    """Compile for one event, or with `every_job` for all of them; what is wrong is part of the outcome."""
    from domain.config.compile import compile_config

    known: dict[Request, Answer] = {}
    parsed = ParsedFiles()

    def answer(request: Request) -> Answer:
        known[request] = sources.answer(request)
        return known[request]

    try:
        plan = in_rounds(
            lambda told: compile_config(text, context, told, file=file, every_job=every_job, parsed=parsed), answer
        )
    except ConfigInvalid as error:
        return Outcome(context, file, text, error=error, known=known)
    except PipelineFiltered as error:
        return Outcome(context, file, text, plan=error.plan, error=error, known=known)
    return Outcome(context, file, text, plan=plan, known=known)


def merged_yaml(text: str, context: Context, known: Mapping[Request, Answer], file: str = ".gitlab-ci.yml") -> str:
    """The configuration with all includes merged; `known` is that of an outcome. Raises `ConfigInvalid`."""
    from domain.config.compile import merged_config

    merged = merged_config(text, context, known, file=file)
    assert isinstance(merged, str), "compiling has asked for every file already"
    return merged


def _template(name: str) -> Answer:
    from includes.templates import load

    text = load(name)
    return Absent() if text is None else Fetched(text, Origin(detached=True))
