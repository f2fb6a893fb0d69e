"""`include`: from the main file and everything it includes to one configuration.

Each file is read, its inputs are put in, then its own includes are merged in their order, and it goes on top of them.
Nothing is fetched here: what is not known yet is asked for, and the caller compiles again when it has the answers.

Source: docs/reference/ci-yaml.md, "Order of reading", "Includes", "Inputs".
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.config.context import Context
from domain.config.extends import merged
from domain.config.including.filling import Filling
from domain.config.including.include_addresses import Addresses
from domain.config.including.include_files import TOO_MANY, IncludeContext, IncludeFile
from domain.config.including.include_items import HEADER_KINDS, IncludeItem, IncludeKind, read_items
from domain.config.including.include_loader import IncludeLoader, Opened
from domain.config.inputs.header import include_of
from domain.config.inputs.inputs import check_pipeline_inputs, input_values
from domain.config.plan import Included
from domain.config.reading.budget import Budget
from domain.config.reading.field import Field
from domain.config.reading.issues import Issues
from domain.config.reading.source import Source
from domain.config.reading.tree import Map, Place
from domain.config.rules.expression import Expressions
from domain.config.rules.path_clauses import PathMatches
from domain.config.rules.rules import decide
from domain.config.rules.scope import Layer, Scope
from domain.config.sources import LocalFile, Request, Sources
from domain.variables.predefined import include_variables


@dataclass(frozen=True, slots=True)
class Loaded:
    """The whole configuration without `include`, and the files in the order in which they were opened."""

    root: Map
    includes: tuple[Included, ...] = ()


def expand(
    source: Source, context: Context, sources: Sources, issues: Issues, budget: Budget, reads: set[str]
) -> Loaded:
    """Put in the inputs of the main file, and merge it with what it includes.

    If something is wanted of `sources` afterwards, or there are issues, the result is not whole. Raises `ConfigInvalid`
    when there are too many files. `reads` gets the names of the variables that addresses and `include:rules` asked for.
    """
    if source.header is None and "include" not in source.root and not context.inputs:
        return Loaded(source.root)
    expansion = _Expansion(context, sources, issues, budget, reads)
    root = expansion.root(source)
    return Loaded(root, tuple(expansion.includes))


@dataclass(slots=True)
class _Level:
    """A file whose includes are being merged: `ahead` are those to come, `merged` is the result so far."""

    opened: Opened
    own: Map
    ahead: deque[IncludeFile]
    merged: Map


class _Expansion:
    """One compilation's files. They are opened depth first, with a stack of its own: a chain may have 150 of them."""

    def __init__(self, context: Context, sources: Sources, issues: Issues, budget: Budget, reads: set[str]) -> None:
        layers = (Layer(context.pipeline), Layer(context.project), include_variables(context.predefined))
        self.includes: list[Included] = []
        self._context = context
        self._sources = sources
        self._issues = issues
        self._budget = budget
        self._scope = Scope(layers, context.hidden, reads)
        self._addresses = Addresses(layers, context, reads, sources, issues)
        self._expressions = Expressions()
        self._matches = PathMatches()
        self._loader = IncludeLoader(sources, issues)
        self._filling = Filling(sources.parsed, self._scope, context.masked, issues)
        self._pulled: set[Request] = {LocalFile(issues.file)}

    def root(self, source: Source) -> Map:
        """Everything merged; what is not known or wrong is left out."""
        check_pipeline_inputs(self._context.inputs, self._issues)
        opened = Opened(source, IncludeContext(artifacts=self._context.parent_job_artifacts))
        place = source.header.place if source.header is not None else Place(1, 1)
        root = self._filled_in(opened, self._context.inputs, place)
        if root is None:
            return Map(source.root.place)
        stack = [self._level(opened, root)]
        while True:
            level = stack[-1]
            if level.ahead:
                below = self._below(level.ahead.popleft(), stack)
                if below is not None:
                    stack.append(below)
                continue
            self._lay_over(level, level.own)
            stack.pop()
            if not stack:
                return level.merged
            self._lay_over(stack[-1], level.merged)

    def _level(self, opened: Opened, root: Map) -> _Level:
        own = Map(root.place)
        own.take(root)
        ahead: deque[IncludeFile] = deque()
        if "include" in root:
            del own["include"]
            field = Field(root["include"], "include", "include config", root.places["include"], self._issues)
            ahead.extend(self._files(read_items(field, expressions=self._expressions), opened.around))
        return _Level(opened, own, ahead, Map())

    def _files(self, items: tuple[IncludeItem, ...], around: IncludeContext) -> list[IncludeFile]:
        """The files of one level, counted. A wildcard leaves out those that were taken before it."""
        found: list[IncludeFile] = []
        for item in items:
            if item.rules is None or self._is_in(item, around):
                for file in self._addresses.files(item, around, self._pulled):
                    self._loader.count(item.field.place)
                    found.append(file)
                    self._pulled.add(file.request)
        return found

    def _is_in(self, item: IncludeItem, around: IncludeContext) -> bool:
        """What its rules say. An item waits for what they want to know, or it might count without being included."""
        assert item.rules is not None
        asked = Sources(self._sources.known)
        decision = decide(
            item.rules, self._scope, asked, name="include:rules", origin=around.origin, matches=self._matches
        )
        for request in asked.wanted:
            self._sources.ask(request)
        if decision.error:
            self._issues.add(f"include {decision.error}", "include:rules", item.field.place)
        return decision.why.included and not asked.wanted and not decision.error

    def _below(self, file: IncludeFile, stack: list[_Level]) -> _Level | None:
        """A file with its inputs, whose includes come next; None if it is not known or wrong."""
        above = stack[-1].opened
        if self._is_circle(file, [level.opened for level in stack]):
            return None
        opened = self._loader.open(file, above.around)
        if opened is None:
            return None
        root = self._filled_in(opened, file.inputs, file.inputs_place)
        if root is None:
            return None
        self.includes.append(Included(file.kind.value, file.name, above.name or self._issues.file))
        return self._level(opened, root)

    def _is_circle(self, file: IncludeFile, chain: list[Opened]) -> bool:
        """Whether a file is open already, with the same inputs; noted. GitLab goes on until there are too many."""
        files = [opened.file for opened in chain]
        for at, other in enumerate(files):
            if other and other.request == file.request and other.item.inputs is file.item.inputs:
                names = " -> ".join(opened.name for opened in (*chain[at:], chain[at]))
                said = f"{TOO_MANY} `{file.name}` includes itself: {names}"
                self._issues.add(said, file.item.field.path, file.item.field.place)
                return True
        return False

    def _filled_in(self, opened: Opened, given: Mapping[str, Any], place: Place) -> Map | None:
        """The root of a file with the values of its inputs; None if that is not possible or not known yet."""
        written = opened.source.header
        if written is None:
            input_values(None, given, self._issues, place, f"`{opened.name}`" if opened.file else "")
            return opened.source.root
        filled = self._filling.filled(opened, self._shared(written, opened), given, place)
        if filled is None:
            return None
        self._loader.weigh(filled.values, place)
        return filled.root

    def _shared(self, header: Map, opened: Opened) -> tuple[Source | None, ...]:
        """The files of a header's `spec:include`; None for each that is not known or wrong."""
        include = include_of(header)
        if include is None:
            return ()
        (value, place), path = include, "header:spec:include"
        if opened.file is not None and opened.file.kind is IncludeKind.COMPONENT:
            said = f"{opened.file.noun} cannot use `spec:include`. This keyword is not supported in components"
            self._issues.add(said, path, place)
            return (None,)
        field = Field(value, path, f"{path} config", place, self._issues)
        found = [
            self._loader.open(file, opened.around)
            for file in self._files(read_items(field, HEADER_KINDS), opened.around)
        ]
        return tuple(None if one is None else one.source for one in found)

    def _lay_over(self, level: _Level, top: Map) -> None:
        """Deep merge into what a level has so far; values are shared, only mappings on both sides become new ones."""
        if self._sources.wanted:
            return  # what is merged before everything is known is thrown away
        below = level.merged
        if not below:
            level.merged = top
            return
        self._budget.spend(len(top), top.place)
        for key, value in top.items():
            under = below.get(key)
            if isinstance(value, Map) and isinstance(under, Map):
                value = merged(under, value, self._budget)
            below.put(key, value, top.places[key])
        below.place = top.place
