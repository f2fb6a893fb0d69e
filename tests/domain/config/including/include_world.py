"""A small world of files in memory, which answers what the compiler wants round by round."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatchmethod
from textwrap import dedent

from domain.config.context import Context
from domain.config.including.includes import Loaded, expand
from domain.config.issue import ConfigIssue
from domain.config.reading.budget import COPIES, Budget
from domain.config.reading.issues import Issues
from domain.config.reading.parsed_files import ParsedFiles
from domain.config.rounds import in_rounds
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
    Sources,
    TemplateFile,
    Tree,
    Wanted,
)
from domain.errors import ConfigInvalid

JOB = "a: {script: x}"
"""A file with one job."""
SHA = "0123456789abcdef"
"""The commit of every other project."""


@dataclass
class World:
    """Files by address: a path, `group/project:path`, `group/project@ref:path`, an URL, `template:NAME`, a component's
    address, or `artifact:job:path`. `asked` holds what was wanted in each round, `parsed` what is kept between them.
    """

    files: Mapping[str, str]
    context: Context = field(default_factory=Context)
    changed: tuple[str, ...] = ()
    asked: list[tuple[Request, ...]] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    parsed: ParsedFiles | None = None
    warnings: tuple[ConfigIssue, ...] = ()

    def load(self, text: str) -> Loaded:
        """The main file and what it includes; raises `ConfigInvalid`."""

        return in_rounds(lambda known: self.round(text, known), self.answer)

    def keys(self, text: str) -> list[str]:
        """The top-level keys of what is loaded, sorted."""
        return sorted(self.load(text).root)

    def round(self, text: str, known: Mapping[Request, Answer]) -> Loaded | Wanted:
        """One round, with these answers."""
        issues, sources = Issues(".gitlab-ci.yml"), Sources(known, self.parsed)
        source = sources.parsed.read(dedent(text), issues)
        loaded = expand(source, self.context, sources, issues, Budget(COPIES, issues), self.reads)
        self.warnings = issues.warnings
        if sources.wanted:
            self.asked.append(sources.wanted)
            return Wanted(sources.wanted)
        issues.raise_if_any()
        return loaded

    def issues(self, text: str) -> tuple[ConfigIssue, ...]:
        """Everything that is wrong with a main file that is wrong."""
        try:
            loaded = self.load(text)
        except ConfigInvalid as error:
            return error.issues
        raise AssertionError(f"This should have been refused: {loaded}")

    def messages(self, text: str) -> list[str]:
        """The messages of `issues`."""
        return [issue.message for issue in self.issues(text)]

    @singledispatchmethod
    def answer(self, request: object) -> Answer:
        """What there is at an address."""
        raise AssertionError(f"nobody should ask for {request}")

    @answer.register
    def _(self, request: LocalFile) -> Answer:
        return self._file(f"{_prefix(request.origin)}{request.path}", request.origin)

    @answer.register
    def _(self, request: ProjectFile) -> Answer:
        at = f"@{request.ref}" if request.ref else ""
        return self._file(f"{request.project}{at}:{request.path}", Origin(request.project, SHA))

    @answer.register
    def _(self, request: RemoteFile) -> Answer:
        return self._file(request.url, Origin(detached=True))

    @answer.register
    def _(self, request: TemplateFile) -> Answer:
        return self._file(f"template:{request.name}", Origin(detached=True))

    @answer.register
    def _(self, request: ComponentFile) -> Answer:
        text = self.files.get(request.address)
        if text is None:
            return Absent()
        path, _, version = request.address.partition("@")
        _, project, name = path.split("/", 1)[0], *path.split("/", 1)[1].rsplit("/", 1)
        return Fetched(dedent(text), Origin(project, SHA), SHA, f"{version}.0", name, version)

    @answer.register
    def _(self, request: ArtifactFile) -> Answer:
        return self._file(f"artifact:{request.job}:{request.path}", HERE)

    @answer.register
    def _(self, request: Tree) -> Answer:
        prefix = _prefix(request.origin)
        paths = (name.removeprefix(prefix) for name in self.files if name.startswith(prefix))
        return Paths(tuple(path for path in paths if ":" not in path))

    @answer.register
    def _(self, request: ChangedPaths) -> Answer:
        return Paths(self.changed)

    def _file(self, name: str, origin: Origin) -> Answer:
        text = self.files.get(name)
        return Absent() if text is None else Fetched(dedent(text), origin)


def _prefix(origin: Origin) -> str:
    return f"{origin.project}:" if origin.project else ""
