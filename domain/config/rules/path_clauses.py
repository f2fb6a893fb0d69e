"""`changes` and `exists`: conditions on the paths of a change or of a tree.

Source: docs/reference/ci-yaml.md, "Changes and exists", "Limits".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.config.keywords import RULE_CHANGES, RULE_EXISTS
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map
from domain.config.rules.globs import Glob, PathText, is_exact, is_extension, is_top_level
from domain.config.rules.scope import Scope
from domain.config.sources import HERE, Absent, ChangedPaths, Origin, Paths, Sources, Tree
from domain.errors import Invalid

MAX_PATTERNS: Final = 50
"""Globs of one `changes` or `exists`."""
MAX_COMPARISONS: Final = 50_000
"""Paths times globs of one clause; with more of them it holds without being looked at."""

GLOB_COST: Final = 50_000
GLOB_CHARACTER_COST: Final = 500
MAX_WORK: Final = 1024**3
"""Bytes that all globs of one configuration may search; a glob's own compilation counts as `GLOB_COST` bytes and
`GLOB_CHARACTER_COST` for each character. It is used up after about 1 s; further clauses hold without being looked at.
"""

UNKNOWN_CHANGE: Final = "no list of changed files is known, which counts as a change"
TOO_MANY: Final = f"more than {MAX_COMPARISONS:,} comparisons, which counts as a match"
NOT_ASKED: Final = "the answer is not known yet"


@dataclass(frozen=True, slots=True)
class Changes:
    """Globs of changed paths; `compare_to` is a ref, with variables, or empty for the event's own change."""

    paths: tuple[str, ...]
    compare_to: str = ""


@dataclass(frozen=True, slots=True)
class Exists:
    """Globs of paths in the tree of the configuration, or of another project at a ref; all may hold variables."""

    paths: tuple[str, ...]
    project: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a clause holds and what decided; nothing is `known` until the next round has the answer."""

    holds: bool
    detail: str
    known: bool = True


class PathMatches:
    """What globs matched so far in one configuration, so that the same question costs nothing the second time."""

    def __init__(self, work: int = MAX_WORK) -> None:
        """Begin with nothing known, and with a limit on the work that all globs make."""
        self._texts: dict[tuple[int, bool], tuple[Paths, PathText]] = {}
        self._found: dict[tuple[int, bool, str, bool], str | None] = {}
        self._work = work

    def text(self, paths: Paths, *, top_only: bool = False) -> PathText:
        """The paths ready to be searched; `top_only` leaves out those in folders."""
        key = (id(paths), top_only)
        if key not in self._texts:
            chosen = [path for path in paths.paths if "/" not in path] if top_only else paths.paths
            # The answer is held too, or another one could come to stand at its address.
            self._texts[key] = (paths, PathText.of(chosen))
        return self._texts[key][1]

    def first(self, globs: Sequence[str], paths: Paths, *, top_only: bool = False, folders: bool = False) -> str | None:
        """The first path that any of the globs matches. Raises `Invalid` for a glob that is too long."""
        text = self.text(paths, top_only=top_only)
        for glob in globs:
            key = (id(paths), top_only, glob, folders)
            if key not in self._found:
                self._found[key] = self._searched(Glob(glob, folders=folders), text)
            if self._found[key] is not None:
                return self._found[key]
        return None

    @property
    def exhausted(self) -> bool:
        """Whether all the work that was permitted is done."""
        return self._work < 0

    def _searched(self, glob: Glob, text: PathText) -> str | None:
        if not glob.exact:
            self._work -= len(text.data) + GLOB_COST + GLOB_CHARACTER_COST * len(glob.pattern)
        return glob.first(text)


def read_changes(field: Field) -> Changes | None:
    """A list of globs, or a mapping of `paths` and `compare_to`."""
    if isinstance(field.value, Items):
        paths = _globs(field, limit=MAX_PATTERNS)
        return None if paths is None else Changes(paths)
    if not isinstance(field.value, Map):
        field.fault("should be an array or a hash: it should be an array of strings, or a hash with `paths`")
        return None
    field.has_keys_of(RULE_CHANGES)
    if field.missing("paths"):
        return None
    paths = _globs(field.attribute("paths"), limit=MAX_PATTERNS)
    compare_to = checks.text(field.attribute("compare_to")) if field.given("compare_to") else ""
    return None if paths is None else Changes(paths, compare_to or "")


def read_exists(field: Field, *, limit: int | None = MAX_PATTERNS) -> Exists | None:
    """A glob, a list of them, or a mapping of `paths`, `project` and `ref`; `limit` is for a plain list."""
    if isinstance(field.value, str):
        return Exists((field.value,))
    if isinstance(field.value, Items):
        paths = _globs(field, limit=limit)
        return None if paths is None else Exists(paths)
    if not isinstance(field.value, Map):
        field.fault("should be a string, an array of strings, or a hash")
        return None
    field.has_keys_of(RULE_EXISTS)
    if field.missing("paths") or (field.given("ref") and field.missing("project")):
        return None
    paths = _globs(field.attribute("paths"), limit=MAX_PATTERNS)
    project = checks.text(field.attribute("project")) if field.given("project") else ""
    ref = checks.text(field.attribute("ref")) if field.given("ref") else ""
    return None if paths is None else Exists(paths, project or "", ref or "")


def find_changed(
    clause: Changes, scope: Scope, sources: Sources, matches: PathMatches, *, limit: int | None = MAX_COMPARISONS
) -> Finding:
    """Whether a changed path matches; with more than `limit` comparisons it is taken for granted.

    Raises `Invalid` when `compare_to` leads nowhere.
    """
    answer = sources.ask(ChangedPaths(scope.expand(clause.compare_to)))
    if answer is None:
        return Finding(holds=False, detail=NOT_ASKED, known=False)
    if isinstance(answer, Absent) and clause.compare_to:
        raise Invalid(answer.message or "rules:changes:compare_to is not a valid ref")
    if not isinstance(answer, Paths) or not answer.known:
        return Finding(holds=True, detail=UNKNOWN_CHANGE)
    globs = _expanded(clause.paths, scope)
    if (limit is not None and len(answer.paths) * len(globs) > limit) or matches.exhausted:
        return Finding(holds=True, detail=TOO_MANY)
    found = matches.first(globs, answer)
    if found is not None:
        return Finding(holds=True, detail=f"changed: {found}")
    return Finding(holds=False, detail=f"none of {len(answer.paths):,} changed files matches")


def find_existing(
    clause: Exists, scope: Scope, sources: Sources, matches: PathMatches, *, origin: Origin = HERE
) -> Finding:
    """Whether a path of the tree matches. Raises `Invalid` when the other project or its ref cannot be read."""
    if not clause.paths or (origin.detached and not clause.project):
        return Finding(holds=False, detail="there are no files to look at")
    tree = Tree(project=scope.expand(clause.project), ref=scope.expand(clause.ref)) if clause.project else Tree(origin)
    answer = sources.ask(tree)
    if answer is None:
        return Finding(holds=False, detail=NOT_ASKED, known=False)
    if isinstance(answer, Absent) and clause.project:
        raise Invalid(answer.message or _absent(clause))
    if not isinstance(answer, Paths) or not answer.known:
        return Finding(holds=False, detail="there are no files to look at")
    globs = _expanded(clause.paths, scope)
    top_only = all(is_top_level(glob) for glob in globs)
    found = matches.first(globs, answer, top_only=top_only, folders=True)
    if found is not None:
        return Finding(holds=True, detail=f"exists: {found}")
    compared = sum(not is_exact(glob) and not is_extension(glob) for glob in globs)
    if compared * len(matches.text(answer, top_only=top_only).paths) > MAX_COMPARISONS or matches.exhausted:
        return Finding(holds=True, detail=TOO_MANY)
    return Finding(holds=False, detail="no such file")


def _expanded(globs: tuple[str, ...], scope: Scope) -> tuple[str, ...]:
    return tuple(dict.fromkeys(scope.expand(glob) for glob in globs))


def _absent(clause: Exists) -> str:
    """Variables stay as they are written: one may be masked."""
    if clause.ref:
        return f"rules:exists:ref `{clause.ref}` is not a valid ref in project `{clause.project}`"
    return f"rules:exists:project `{clause.project}` is not a valid project path"


def _globs(field: Field, *, limit: int | None) -> tuple[str, ...] | None:
    globs = checks.strings(field)
    if globs is not None and limit is not None and len(globs) > limit:
        field.fault(f"has too many entries (maximum {limit})")
        return None
    return globs
