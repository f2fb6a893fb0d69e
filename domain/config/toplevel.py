"""What stands at the top of a configuration beside jobs. Source: docs/reference/ci-yaml.md, "Global keywords"."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.config.entries import Entries
from domain.config.keywords import DEFAULT, OLD_DEFAULT
from domain.config.plan import Prefill, Variable
from domain.config.readers.variables import TOP_KEYS, prefill, read_variables
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Map
from domain.config.rules.expression import Expressions
from domain.config.rules.workflow import Workflow, read_workflow

FIRST_STAGE: Final = ".pre"
LAST_STAGE: Final = ".post"
DEFAULT_STAGES: Final = ("build", "test", "deploy")


@dataclass(frozen=True, slots=True)
class TopLevel:
    """Stages with `.pre` and `.post` at their ends, the entries of `default`, variables of every job, the workflow.

    `stages` is None if they could not be read.
    """

    stages: tuple[str, ...] | None
    defaults: Mapping[str, Any]
    variables: Mapping[str, Variable]
    prefill: Mapping[str, Prefill]
    workflow: Workflow


def read_toplevel(root: Map, entries: Entries, expressions: Expressions, issues: Issues) -> TopLevel:
    """Read every key that is no job."""
    config = Field(root, "", "root config", root.place, issues)
    variables = read_variables(config.entry("variables"), TOP_KEYS) if config.given("variables") else None
    workflow = read_workflow(config.entry("workflow"), expressions) if config.given("workflow") else None
    if config.given("spec"):
        message = "`spec` belongs into a document of its own at the top of the file, closed by a line `---`"
        issues.add(message, "spec", root.places["spec"])
    return TopLevel(
        stages=_stages(config),
        defaults=_defaults(config, entries),
        variables=variables or {},
        prefill=prefill(root.get("variables")),
        workflow=workflow or Workflow(),
    )


def _stages(config: Field) -> tuple[str, ...] | None:
    named = checks.nested_strings(config.entry("stages")) if config.given("stages") else DEFAULT_STAGES
    if named is None:
        return None
    edges = {FIRST_STAGE, LAST_STAGE}
    between = dict.fromkeys(stage for stage in named if stage not in edges)
    return (FIRST_STAGE, *between, LAST_STAGE)


def _defaults(config: Field, entries: Entries) -> Mapping[str, Any]:
    """The entries of `default`, and those of its old form, the same keywords at the top."""
    assert isinstance(config.value, Map)
    found: dict[str, Any] = {}
    default = config.entry("default") if config.given("default") else None
    if default and default.has_keys_of(DEFAULT):
        found.update(entries.read(_only(default, DEFAULT)))
        if default.given("timeout"):
            message = "default:timeout holds for every job here; GitLab reads it and goes by the project's timeout"
            config.issues.warn(message, "default:timeout", default.attribute("timeout").place)
    old_form = _only(config, OLD_DEFAULT)
    assert isinstance(old_form.value, Map)
    for keyword in filter(config.given, old_form.value):
        place = config.value.places[keyword]
        if default and default.given(keyword):
            message = f"{keyword} is defined in top-level and `default:` entry"
            config.issues.add(message, keyword, place)
        else:
            config.issues.warn(f"{keyword} at the top is deprecated; write it below `default:`", keyword, place)
    return {**entries.read(old_form), **found}


def _only(field: Field, keys: frozenset[str]) -> Field:
    """The same field with some of its keys."""
    assert isinstance(field.value, Map)
    chosen = Map(field.place)
    for key, value in field.value.items():
        if key in keys:
            chosen.put(key, value, field.value.places[key])
    return Field(chosen, field.path, field.label, field.place, field.issues)
