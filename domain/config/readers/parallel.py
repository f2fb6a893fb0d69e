"""`parallel`: one job written, many run. Source: docs/reference/ci-yaml.md, "Parallel"."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

from domain.config.keywords import PARALLEL
from domain.config.readers.variables import scalar_text
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map, Value

MAX_INSTANCES: Final = 200
"""Instances of one job (docs/reference/ci-yaml.md, "Limits")."""

Matrix: TypeAlias = tuple[Mapping[str, tuple[str, ...]], ...]
"""Mappings of variable names to the values they take; each mapping gives the product of its values."""

_EXPRESSION: Final = re.compile(r"\$\[\[\s*matrix\.([^\s\]]+)\s*\]\]")


@dataclass(frozen=True, slots=True)
class Instance:
    """One of the jobs that a `parallel` makes. `index` counts from 1; `values` are those of its matrix."""

    name: str
    index: int
    total: int
    values: Mapping[str, str]


def read_parallel(field: Field) -> int | Matrix | None:
    """A number, or a mapping with `matrix`."""
    if isinstance(field.value, Map):
        return _read_matrix(field) if field.has_keys_of(PARALLEL) else None
    if isinstance(field.value, int | float) and not isinstance(field.value, bool):
        return checks.whole_number(field, 1, MAX_INSTANCES)
    field.fault("should be an integer or a hash")
    return None


def read_picked(field: Field) -> Matrix | None:
    """The combinations of a matrix that a need picks; they are looked up where the needed job is known."""
    if isinstance(field.value, int | float) and not isinstance(field.value, bool):
        field.fault('cannot use "parallel: <number>"; write `parallel: {matrix: [...]}`')
        return None
    return _read_matrix(field) if field.has_keys_of(PARALLEL) else None


def instances(name: str, parallel: int | Matrix) -> tuple[Instance, ...]:
    """Every instance in order: `name 1/3`, or `name: [v1, v2]` with the first key of a mapping outermost.

    Of combinations that make the same name the last is the job, and the others are counted all the same, as in GitLab's
    `Normalizer`.
    """
    if isinstance(parallel, int):
        return tuple(Instance(f"{name} {index}/{parallel}", index, parallel, {}) for index in range(1, parallel + 1))
    rows = list(_rows(parallel))
    found: dict[str, Instance] = {}
    for index, row in enumerate(rows, start=1):
        full_name = f"{name}: [{', '.join(row.values())}]"
        found[full_name] = Instance(full_name, index, len(rows), row)
    return tuple(found.values())


def count_rows(matrix: Matrix) -> int:
    """How many instances a matrix makes; of more than the limit just that it is more, as the number may be huge."""
    total = 0
    for mapping in matrix:
        rows = 1
        for values in mapping.values():
            rows = min(rows * len(values), MAX_INSTANCES + 1)
        total += rows
    return total


def with_matrix_values(text: str, values: Mapping[str, str]) -> str:
    """Replace `$[[ matrix.NAME ]]` by this instance's value; unknown names stay as they are."""
    return _EXPRESSION.sub(lambda match: values.get(match[1], match[0]), text)


def has_matrix_expression(text: str) -> bool:
    """Whether `with_matrix_values` may change the text."""
    return "$[[" in text and _EXPRESSION.search(text) is not None


def _rows(matrix: Matrix) -> Iterator[Mapping[str, str]]:
    """Each combination once, where it stands first."""
    seen: set[frozenset[tuple[str, str]]] = set()
    for mapping in matrix:
        for values in product(*mapping.values()):
            row = dict(zip(mapping, values, strict=True))
            key = frozenset(row.items())
            if key not in seen:
                seen.add(key)
                yield row


def _read_matrix(field: Field) -> Matrix | None:
    if field.missing("matrix"):
        return None
    entry = field.entry("matrix")
    if not isinstance(entry.value, Items) or not all(isinstance(mapping, Map) for mapping in entry.value):
        entry.fault("should be an array of hashes")
        return None
    if len(entry.value) > MAX_INSTANCES:
        entry.fault(f"generates too many jobs (maximum is {MAX_INSTANCES})")
        return None
    before = len(field.issues)
    matrix = tuple(_read_mapping(element) for element in entry.elements())
    if count_rows(matrix) > MAX_INSTANCES:
        entry.fault(f"generates too many jobs (maximum is {MAX_INSTANCES})")
    return matrix if len(field.issues) == before else None


def _read_mapping(field: Field) -> Mapping[str, tuple[str, ...]]:
    """Names to one or several texts and whole numbers."""
    assert isinstance(field.value, Map)
    found: dict[str, tuple[str, ...]] = {}
    for key, value in field.value.items():
        values = value if isinstance(value, Items) else [value]
        wrong = next((one for one in values if not _is_matrix_value(one)), None)
        if wrong is not None or None in values:
            text = f"should be a hash of key value pairs, value can be an array; look at `{key}`{_quote(wrong)}"
            field.issues.add(f"{field.label} {text}", field.path, field.value.places[key])
        found[key] = tuple(str(one) for one in values)
    if not found:
        field.fault("requires at least 1 items")
    return found


def _is_matrix_value(value: Value) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _quote(value: Value) -> str:
    """What to do about a value that YAML has read as something else than the text that is meant."""
    written = scalar_text(value)
    return "" if written is None else f": a value is text or a whole number, and YAML reads {written} here; quote it"
