"""What stands at the top of a configuration beside jobs. Reference: CI YAML, section 2."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.config import checks
from domain.config.entries import Entries
from domain.config.field import Field
from domain.config.issues import Issues
from domain.config.keywords import DEFAULT, TOP, not_yet
from domain.config.plan import Variable
from domain.config.tree import Map
from domain.config.variables import TOP_KEYS, read_variables

FIRST_STAGE: Final = ".pre"
LAST_STAGE: Final = ".post"
DEFAULT_STAGES: Final = ("build", "test", "deploy")


@dataclass(frozen=True, slots=True)
class TopLevel:
    """Stages with `.pre` and `.post` at their ends, the entries of `default`, and the variables of every job."""

    stages: tuple[str, ...]
    defaults: Mapping[str, Any]
    variables: Mapping[str, Variable]


def read_toplevel(root: Map, entries: Entries, issues: Issues) -> TopLevel:
    """Read every key that is no job, and refuse those that are not supported yet."""
    config = Field(root, "", "root config", root.place, issues)
    for keyword in sorted(TOP.later & root.keys()):
        if root[keyword] is not None:
            issues.add(not_yet(keyword), keyword, root.places[keyword])
    variables = read_variables(config.entry("variables"), TOP_KEYS) if config.given("variables") else None
    return TopLevel(stages=_stages(config), defaults=_defaults(config, entries), variables=variables or {})


def _stages(config: Field) -> tuple[str, ...]:
    named = checks.nested_strings(config.entry("stages")) if config.given("stages") else None
    edges = {FIRST_STAGE, LAST_STAGE}
    between = dict.fromkeys(stage for stage in (DEFAULT_STAGES if named is None else named) if stage not in edges)
    return (FIRST_STAGE, *between, LAST_STAGE)


def _defaults(config: Field, entries: Entries) -> Mapping[str, Any]:
    """The entries of `default`, and those of its old form, the same keywords at the top."""
    assert isinstance(config.value, Map)
    found: dict[str, Any] = {}
    default = config.entry("default") if config.given("default") else None
    if default and default.has_keys_of(DEFAULT):
        found.update(entries.read(_only(default, DEFAULT.read)))
    old_form = _only(config, DEFAULT.read & TOP.read)
    assert isinstance(old_form.value, Map)
    for keyword in old_form.value:
        if config.given(keyword) and default and default.given(keyword):
            message = f"{keyword} is defined in top-level and `default:` entry"
            config.issues.add(message, keyword, config.value.places[keyword])
    return {**entries.read(old_form), **found}


def _only(field: Field, keys: frozenset[str]) -> Field:
    """The same field with some of its keys."""
    assert isinstance(field.value, Map)
    chosen = Map(field.place)
    for key, value in field.value.items():
        if key in keys:
            chosen.put(key, value, field.value.places[key])
    return Field(chosen, field.path, field.label, field.place, field.issues)
