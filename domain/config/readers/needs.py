"""`needs` and `dependencies` as they are written; `graph` looks up where they point.

Source: docs/reference/ci-yaml.md, "Needs".
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from domain.config.keywords import NEED, Vocabulary
from domain.config.plan import ForeignNeed
from domain.config.readers.parallel import Matrix, count_rows, instances, read_picked
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map, Place
from domain.errors import Invalid

MAX_NAME: Final = 255
"""Characters of a job's name (docs/reference/ci-yaml.md, "Limits")."""
MAX_FOREIGN: Final = 5
"""Jobs of other pipelines, and as many of other projects, that one job can need.

Source: docs/reference/ci-yaml.md, "Limits".
"""

OF_PIPELINE: Final[Vocabulary] = frozenset({"pipeline", "job", "artifacts", "optional", "parallel"})
"""Keys of a need of another pipeline's job."""
OF_PROJECT: Final[Vocabulary] = frozenset({"project", "ref", "job", "artifacts", "parallel"})
"""Keys of a need of another project's job."""
MIRROR: Final[Vocabulary] = frozenset({"pipeline"})
"""Keys of a need that mirrors another pipeline."""

_TOO_MANY: Final = f"must be less than or equal to {MAX_FOREIGN}, the most jobs of other pipelines that can be needed"


@dataclass(frozen=True, slots=True)
class NeedEntry:
    """One need within the pipeline.

    `job` may still be the base name of a parallel job; `matrix` are the combinations of it that are picked, None for
    all. Both may hold `$[[ matrix.NAME ]]`.
    """

    job: str
    artifacts: bool
    optional: bool
    place: Place
    matrix: Matrix | None = None


@dataclass(frozen=True, slots=True)
class ForeignNeedEntry:
    """One need outside the pipeline; without a job it mirrors the other pipeline."""

    need: ForeignNeed
    place: Place


Entry: TypeAlias = NeedEntry | ForeignNeedEntry


@dataclass(frozen=True, slots=True)
class Needs:
    """All needs of a job, in the order of the text."""

    local: tuple[NeedEntry, ...] = ()
    foreign: tuple[ForeignNeedEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class DependencyEntry:
    """One item of `dependencies`."""

    job: str
    place: Place


def read_needs(field: Field) -> Needs | None:
    """A list of names and mappings, or one mapping; lists within it, as references put them there, are flattened."""
    if not isinstance(field.value, Items | Map):
        field.fault("can only be a hash or an array")
        return None
    try:
        elements = list(checks.flattened_values(field))
    except Invalid:
        field.fault(f"should be an array, nested up to {checks.NESTING} levels deep")
        return None
    path = f"{field.path}:need"
    entries: list[Entry] = []
    for value, place in elements:
        if value is None:
            continue
        if isinstance(value, str) and value.strip() and len(value) <= MAX_NAME:
            entries.append(NeedEntry(value, artifacts=True, optional=False, place=place))
        else:
            entries += _need(Field(value, path, f"{path} config", place, field.issues))
    foreign = tuple(entry for entry in entries if isinstance(entry, ForeignNeedEntry))
    of_projects = sum(bool(entry.need.project) for entry in foreign)
    if max(of_projects, len(foreign) - of_projects) > MAX_FOREIGN:
        field.fault(_TOO_MANY)
    return Needs(tuple(entry for entry in entries if isinstance(entry, NeedEntry)), foreign)


def read_dependencies(field: Field) -> tuple[DependencyEntry, ...] | None:
    """A list of names."""
    names = checks.strings(field)
    if names is None or not isinstance(field.value, Items):
        return None
    return tuple(DependencyEntry(name, place) for name, place in zip(names, field.value.places, strict=True))


def _need(field: Field) -> Iterator[Entry]:
    """What an item asks for that is no plain name.

    That is nothing if it is wrong, and several if combinations of a foreign matrix are picked.
    """
    if isinstance(field.value, Map):
        before = len(field.issues)
        entries = tuple(_form(field.value)(field))
        if len(field.issues) == before:
            yield from entries
    elif isinstance(field.value, str):
        _name(field)
    else:
        field.fault("has an unsupported type; write the name of a job or a mapping with `job`")


def _form(value: Map) -> Callable[[Field], Iterator[Entry]]:
    """Which kind of need the keys make; a null means unset."""
    given = {key for key in ("pipeline", "project", "ref") if value.get(key) is not None}
    if not value.keys() <= NEED or {"pipeline", "project"} <= given:
        return _unknown
    if "project" in given or "ref" in given:
        return _of_project
    if "pipeline" not in given:
        return _local
    return _of_pipeline if "job" in value else _mirror


def _unknown(field: Field) -> Iterator[Entry]:
    field.has_keys_of(NEED)
    if field.given("pipeline") and field.given("project"):
        field.fault("has an unsupported type; these keys cannot be used together: pipeline, project")
    return iter(())


def _local(field: Field) -> Iterator[Entry]:
    if not field.given("job"):
        message = f"{field.path} job can't be blank; a mapping without job, pipeline or project has an unsupported type"
        field.issues.add(message, field.path, field.place)
        return
    job = _name(field.attribute("job"))
    artifacts = checks.flag(field, "artifacts", default=True)
    optional = checks.flag(field, "optional")
    matrix = read_picked(field.entry("parallel")) if field.given("parallel") else None
    if job is not None:
        yield NeedEntry(job, artifacts, optional, field.place, matrix)


def _of_pipeline(field: Field) -> Iterator[Entry]:
    field.has_keys_of(OF_PIPELINE)
    yield from _foreign(field, ForeignNeed(pipeline=checks.required_text(field, "pipeline") or ""))


def _of_project(field: Field) -> Iterator[Entry]:
    field.has_keys_of(OF_PROJECT)
    project, ref = checks.required_text(field, "project"), checks.required_text(field, "ref")
    yield from _foreign(field, ForeignNeed(project=project or "", ref=ref or ""))


def _mirror(field: Field) -> Iterator[Entry]:
    field.has_keys_of(MIRROR)
    yield ForeignNeedEntry(ForeignNeed(pipeline=checks.required_text(field, "pipeline") or ""), field.place)


def _foreign(field: Field, source: ForeignNeed) -> Iterator[Entry]:
    """A job of that pipeline or project. Nobody here sees its matrix, so what is picked makes the names."""
    artifacts = checks.flag(field, "artifacts", default=True)
    optional = checks.flag(field, "optional")
    matrix = read_picked(field.entry("parallel")) if field.given("parallel") else None
    if not field.given("job"):
        checks.lacks(field, "job")
        return
    job = _name(field.attribute("job"))
    if matrix is not None and count_rows(matrix) > MAX_FOREIGN:
        field.entry("parallel").fault(_TOO_MANY)
    elif job is not None:
        names = (job,) if matrix is None else tuple(instance.name for instance in instances(job, matrix))
        for name in names:
            yield ForeignNeedEntry(replace(source, job=name, artifacts=artifacts, optional=optional), field.place)


def _name(field: Field) -> str | None:
    """The name of a job."""
    name = checks.filled_text(field)
    return None if name is None else checks.short_text(field, MAX_NAME)
