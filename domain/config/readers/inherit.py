"""`inherit`: which defaults and global variables a job takes. Source: docs/reference/ci-yaml.md, "Job keywords"."""

from collections.abc import Collection
from dataclasses import dataclass

from domain.config.keywords import DEFAULT, INHERIT
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Items


@dataclass(frozen=True, slots=True)
class Inherit:
    """For each: everything, nothing, or only these."""

    default: bool | tuple[str, ...] = True
    variables: bool | tuple[str, ...] = True


def read_inherit(field: Field) -> Inherit | None:
    """A mapping; what is not given is inherited as a whole."""
    if not field.has_keys_of(INHERIT):
        return None
    default = _names(field.entry("default")) if field.given("default") else True
    if isinstance(default, tuple):
        _check_known(field.entry("default"), default, DEFAULT)
    return Inherit(default, _names(field.entry("variables")) if field.given("variables") else True)


def _names(field: Field) -> bool | tuple[str, ...]:
    if isinstance(field.value, bool):
        return field.value
    if isinstance(field.value, Items):
        return checks.strings(field) or ()
    field.fault("should be a bool or array of strings")
    return True


def _check_known(field: Field, names: tuple[str, ...], known: Collection[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        field.fault(f"contains unknown values: {', '.join(unknown)}{nearest(unknown, known)}")
