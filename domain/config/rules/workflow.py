"""`workflow`: whether there is a pipeline at all, its name, and what cancels it.

Source: docs/reference/ci-yaml.md, "Global keywords".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.config.keywords import WORKFLOW
from domain.config.plan import AutoCancel
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.rules.auto_cancel import read_auto_cancel
from domain.config.rules.expression import Expressions
from domain.config.rules.rules import Rule, RuleKind, read_rules

MAX_NAME: Final = 255
"""Characters of a pipeline's name (docs/reference/ci-yaml.md, "Limits")."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """`rules` is None where there are none; `name` may hold variables; `auto_cancel` holds the keys that are given."""

    rules: tuple[Rule, ...] | None = None
    name: str = ""
    auto_cancel: Mapping[str, str] = field(default_factory=dict)


def read_workflow(field: Field, expressions: Expressions | None = None) -> Workflow | None:
    """A mapping with rules, name and what is cancelled; its conditions are parsed by `expressions`."""
    if not field.has_keys_of(WORKFLOW):
        return None
    rules = None
    if field.given("rules"):
        rules = read_rules(field.entry("rules"), kind=RuleKind.WORKFLOW, expressions=expressions)
    return Workflow(
        rules=rules,
        name=_name(field.attribute("name")) if field.given("name") else "",
        auto_cancel=(read_auto_cancel(field.entry("auto_cancel")) if field.given("auto_cancel") else None) or {},
    )


def ruled_auto_cancel(workflow: Workflow, rule: Rule | None = None) -> AutoCancel:
    """What is in force: each key as the matching rule says, else as the workflow says, else the default."""
    return AutoCancel(**{**workflow.auto_cancel, **(rule.auto_cancel if rule else {})})


def _name(field: Field) -> str:
    return checks.short_text(field, MAX_NAME) or ""
