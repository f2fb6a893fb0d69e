"""From an item of `include` to the files it means: variables in addresses, wildcards, and names for messages.

Source: docs/reference/ci-yaml.md, "Includes".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from domain.config.context import Context
from domain.config.including.include_files import MAX_INCLUDES, TOO_MANY, IncludeContext, IncludeFile
from domain.config.including.include_items import IncludeItem, IncludeKind
from domain.config.including.wildcards import MAX_STARS, MAX_WILDCARD, has_wildcard, is_too_long, matching
from domain.config.reading.issues import Issues
from domain.config.rules.globs import PathText
from domain.config.rules.scope import Scope, names_in
from domain.config.sources import (
    HERE,
    Absent,
    ArtifactFile,
    ComponentFile,
    LocalFile,
    Origin,
    Paths,
    ProjectFile,
    RemoteFile,
    Request,
    Sources,
    TemplateFile,
    Tree,
)
from domain.config.why import HIDDEN

MAX_ADDRESS: Final = 2_048
"""Characters of an address after expansion; it is repeated in the places of everything in that file."""
TEMPLATE_SUFFIX: Final = ".gitlab-ci.yml"
"""How names of templates end."""

_EXTENSIONS: Final = (".yml", ".yaml")
_SHORT_SHA: Final = 8


@dataclass(frozen=True, slots=True)
class _Text:
    """An expanded text, and how it is shown."""

    real: str
    shown: str


class Addresses:
    """Finds the files of items in one compilation."""

    def __init__(
        self, layers: Sequence[Mapping[str, str]], context: Context, reads: set[str], sources: Sources, issues: Issues
    ) -> None:
        """`layers` are the variables that an include may see, the strongest first; `reads` is added to."""
        self._scope = Scope(layers, context.hidden, reads)
        hidden = dict.fromkeys(context.hidden, HIDDEN)
        self._shown = Scope([_replaced(layer, hidden) for layer in layers])
        self._sources = sources
        self._issues = issues
        self._trees: dict[Origin, PathText] = {}
        self._wildcards = 0

    def files(self, item: IncludeItem, around: IncludeContext, skip: Collection[Request] = ()) -> Iterator[IncludeFile]:
        """Every file of an item; what is wrong with an address is noted.

        Wildcards leave out the files in `skip`, and mean nothing as long as the tree is not known.
        """
        address = self._text(item, item.address)
        if address is None:
            return
        kind = item.kind or (IncludeKind.REMOTE if _is_url(address.real) else IncludeKind.LOCAL)
        if kind is IncludeKind.PROJECT:
            yield from self._of_project(item, address)
        elif kind is IncludeKind.LOCAL and has_wildcard(address.real):
            yield from self._of_wildcard(item, address, around, skip)
        else:
            found = self._single(kind, item, address, around)
            if found is not None:
                yield found

    def _single(
        self, kind: IncludeKind, item: IncludeItem, address: _Text, around: IncludeContext
    ) -> IncludeFile | None:
        if kind is IncludeKind.LOCAL:
            return self._local(item, address, around)
        if kind is IncludeKind.REMOTE:
            return self._remote(item, address)
        if kind is IncludeKind.TEMPLATE:
            return self._template(item, address)
        if kind is IncludeKind.COMPONENT:
            return self._component(item, address, around)
        return self._artifact(item, address, around)

    def _of_wildcard(
        self, item: IncludeItem, pattern: _Text, around: IncludeContext, skip: Collection[Request]
    ) -> Iterator[IncludeFile]:
        """The files of the tree that match, by name, each as if it were written alone."""
        if not self._has_project(item, pattern, around):
            return
        if is_too_long(pattern.real):
            limits = f"{MAX_WILDCARD:,} characters and {MAX_STARS} `*`"
            self._note(item, f"Local file `{pattern.shown}` is too long: with wildcards it has at most {limits}")
            return
        self._wildcards += 1
        if self._wildcards > MAX_INCLUDES:
            self._issues.fail(TOO_MANY, item.field.path, item.field.place)
        tree = self._tree(item, pattern, around.origin)
        if tree is None:
            return
        found = sorted(matching(pattern.real.lstrip("/"), tree))
        if not found:
            self._issues.warn(f"No file matches `{pattern.shown}`", item.field.path, item.field.place)
        for path in found:
            if LocalFile(path, around.origin) not in skip:
                shown = path if pattern.shown == pattern.real else pattern.shown
                file = self._local(item, _Text(path, shown), around)
                if file is not None:
                    yield file

    def _tree(self, item: IncludeItem, pattern: _Text, origin: Origin) -> PathText | None:
        """The paths to look through; None if they are not known."""
        answer = self._sources.ask(Tree(origin))
        if isinstance(answer, Absent):
            said = f"Local file `{pattern.shown}` does not exist! The files of its project cannot be listed"
            self._note(item, answer.message or said)
        if isinstance(answer, Paths) and origin not in self._trees:
            self._trees[origin] = PathText.of(answer.paths)
        return self._trees.get(origin)

    def _local(self, item: IncludeItem, address: _Text, around: IncludeContext) -> IncludeFile | None:
        path = _Text(address.real.lstrip("/"), address.shown.lstrip("/"))
        noun = f"Local file `{path.shown}`"
        if not self._has_project(item, path, around) or not self._is_yaml(item, path):
            return None
        if ".." in path.real.split("/"):
            self._note(item, f"{noun} does not exist! A path cannot leave the repository with `..`")
            return None
        origin = around.origin
        where = f"{origin.project}@{origin.sha[:_SHORT_SHA]}:" if origin.project else ""
        name = where + path.shown
        missing = f"{noun} does not exist!" if origin == HERE else f"{noun} does not exist in {where.rstrip(':')}!"
        return IncludeFile(IncludeKind.LOCAL, LocalFile(path.real, origin), name, noun, missing, item)

    def _of_project(self, item: IncludeItem, project: _Text) -> Iterator[IncludeFile]:
        ref = self._text(item, item.ref) if item.ref else _Text("", "")
        for written in item.files:
            path = self._text(item, written)
            if ref is None or path is None or not self._is_yaml(item, path):
                continue
            real, shown = path.real.lstrip("/"), path.shown.lstrip("/")
            at = f"@{ref.shown}" if ref.shown else ""
            yield IncludeFile(
                IncludeKind.PROJECT,
                ProjectFile(project.real.strip("/").lower(), real, ref.real),
                f"{project.shown}{at}:{shown}",
                f"Project `{project.shown}` file `{shown}`",
                f"Project `{project.shown}` not found or access denied! Make sure that it has the file `{shown}`"
                f"{f' at `{ref.shown}`' if at else ''} and that you may read it",
                item,
            )

    def _remote(self, item: IncludeItem, address: _Text) -> IncludeFile | None:
        noun = f"Remote file `{address.shown}`"
        if not self._is_yaml(item, address):
            return None
        if not _is_url(address.real):
            self._note(item, f"{noun} does not have a valid address! It must start with `https://` and name a host")
            return None
        missing = f"{noun} could not be fetched!"
        return IncludeFile(IncludeKind.REMOTE, RemoteFile(address.real), address.shown, noun, missing, item)

    def _template(self, item: IncludeItem, address: _Text) -> IncludeFile | None:
        noun = f"Template file `{address.shown}`"
        if not address.real.endswith(TEMPLATE_SUFFIX) or ".." in address.real.split("/"):
            self._note(item, f"{noun} is not a valid location! Its name must end in `{TEMPLATE_SUFFIX}`")
            return None
        name, missing = f"template:{address.shown}", f"{noun} does not exist!"
        return IncludeFile(IncludeKind.TEMPLATE, TemplateFile(address.real), name, noun, missing, item)

    def _component(self, item: IncludeItem, address: _Text, around: IncludeContext) -> IncludeFile | None:
        noun = f"Component `{address.shown}`"
        path, _, version = address.real.rpartition("@")
        if around.origin.detached:
            self._note(item, f"Unable to use components outside of a project context: {noun}")
            return None
        if not version or path.count("/") < 2:  # host, project, name
            self._note(item, f"{noun}: the address must be `host/group/project/name@version`")
            return None
        missing = f"{noun} not found or access denied!"
        return IncludeFile(IncludeKind.COMPONENT, ComponentFile(address.real), address.shown, noun, missing, item)

    def _artifact(self, item: IncludeItem, address: _Text, around: IncludeContext) -> IncludeFile | None:
        job = self._text(item, item.job)
        if job is None or not self._is_yaml(item, address):
            return None
        if not around.artifacts:
            said = "Including configs from artifacts is only allowed when triggering child pipelines"
            self._note(item, f"{said}: `{address.shown}` of job `{job.shown}`")
            return None
        noun = f"File `{address.shown}` of job `{job.shown}`"
        missing = f"Job `{job.shown}` not found in parent pipeline or does not have artifacts with `{address.shown}`!"
        request = ArtifactFile(address.real, job.real)
        return IncludeFile(IncludeKind.ARTIFACT, request, f"artifact:{job.shown}:{address.shown}", noun, missing, item)

    def _text(self, item: IncludeItem, written: str) -> _Text | None:
        """A text with its variables expanded, if it can be a part of an address; unknown ones become empty."""
        text = _Text(_filled(self._scope, written), _filled(self._shown, written))
        fault = ""
        if not text.real.strip():
            fault = f"`{written}` can't be blank; its variables are empty here"
        elif len(text.real) > MAX_ADDRESS:
            fault = f"is too long (maximum is {MAX_ADDRESS:,} characters)"
        elif not text.real.isprintable():
            fault = "contains line breaks or other control characters"
        if fault:
            item.field.fault(fault)
        return None if fault else text

    def _has_project(self, item: IncludeItem, path: _Text, around: IncludeContext) -> bool:
        if around.origin.detached:
            why = "a remote file or a template can include remote files, templates and files of projects only"
            self._note(item, f"Local file `{path.shown}` does not have project! {why.capitalize()}")
        return not around.origin.detached

    def _is_yaml(self, item: IncludeItem, address: _Text) -> bool:
        name = address.real.rpartition("/")[2].lower()
        if name.endswith(_EXTENSIONS) and name not in _EXTENSIONS:
            return True
        self._note(item, f"Included file `{address.shown}` does not have YAML extension!")
        return False

    def _note(self, item: IncludeItem, message: str) -> None:
        self._issues.add(message, item.field.path, item.field.place)


def _filled(scope: Scope, text: str) -> str:
    """A text with its variables expanded; unknown ones become empty."""
    expanded = scope.expand(text)
    unknown = names_in(expanded)
    return Scope([dict.fromkeys(unknown, "")]).expand(expanded) if unknown else expanded


def _replaced(layer: Mapping[str, str], hidden: Mapping[str, str]) -> Mapping[str, str]:
    """A layer with other values for some of its names."""
    return {name: hidden.get(name, value) for name, value in layer.items()}


def _is_url(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
