"""What the compiler has to ask the outside for: files to include, paths of a tree, changed paths.

The compiler does no I/O. It is given the answers that are known; what it misses it notes as wanted and gives back, so
that the caller finds it (with the permissions of its user) and compiles again. The number of rounds is the depth of
nested includes, and one more for `changes` and `exists`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from domain.config.reading.parsed_files import ParsedFiles


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an included file comes from, which is where its own `include:local` looks.

    `project` is empty for the pipeline's own project and commit. `detached` is true for files of the outside (remote
    ones, templates), which have no project: `include:local` there is an error.
    """

    project: str = ""
    sha: str = ""
    detached: bool = False


HERE = Origin()
"""The pipeline's own project at its commit."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of the origin's tree; `path` has no leading slash."""

    path: str
    origin: Origin = HERE


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file of another project; `ref` is empty for its default branch."""

    project: str
    path: str
    ref: str = ""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind an address."""

    url: str


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """A template that ships with the product, by name (`Auto-DevOps.gitlab-ci.yml`, `Jobs/Build.gitlab-ci.yml`)."""

    name: str


@dataclass(frozen=True, slots=True)
class ComponentFile:
    """A component, by its address `host/path/name@version` with all variables expanded."""

    address: str


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """A file from the artifacts of a job of the parent pipeline."""

    path: str
    job: str


@dataclass(frozen=True, slots=True)
class Tree:
    """Every path of a tree's files: of an origin, or of another project (`ref` is empty for its default branch)."""

    origin: Origin = HERE
    project: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True)
class ChangedPaths:
    """Paths that the event changed, or that differ from the ref `compare_to`."""

    compare_to: str = ""


Request: TypeAlias = (
    LocalFile | ProjectFile | RemoteFile | TemplateFile | ComponentFile | ArtifactFile | Tree | ChangedPaths
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """The text of a file, and where it was found. `sha`, `version`, `name` and `reference` are a component's."""

    text: str
    origin: Origin = HERE
    sha: str = ""
    version: str = ""
    name: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths relative to the top of a tree; `known` is false where there is nothing to compare with."""

    paths: tuple[str, ...] = ()
    known: bool = True


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such thing, or the user may not see it.

    `message` is a whole sentence in GitLab's words, or empty for the usual one of the kind of request.
    """

    message: str = ""


Answer: TypeAlias = Fetched | Paths | Absent


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be known before the compiler can go on."""

    requests: tuple[Request, ...]


class Sources:
    """The answers that are known, and what was asked for in vain."""

    def __init__(self, known: Mapping[Request, Answer] | None = None, parsed: ParsedFiles | None = None) -> None:
        """Begin with the known answers; what was `parsed` of them before is not parsed again."""
        self.known = known or {}
        self.parsed = parsed if parsed is not None else ParsedFiles()
        self._wanted: dict[Request, None] = {}

    def ask(self, request: Request) -> Answer | None:
        """The answer; None if it is not known yet, and then it is wanted."""
        answer = self.known.get(request)
        if answer is None:
            self._wanted[request] = None
        return answer

    @property
    def lasting(self) -> bool:
        """Whether every answer depends on the commit and the product alone, and will be the same again."""
        return all(map(_is_lasting, self.known))

    @property
    def wanted(self) -> tuple[Request, ...]:
        """What is not known yet, in the order in which it was asked for."""
        return tuple(self._wanted)


def _is_lasting(request: Request) -> bool:
    match request:
        case LocalFile(origin=origin) | Tree(origin=origin, project=""):
            return origin == HERE
        case ChangedPaths(compare_to=compare_to):
            return not compare_to
        case _:
            return isinstance(request, TemplateFile)
