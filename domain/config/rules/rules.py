"""`rules` of jobs, of the workflow and of includes, as they are written.

The first item whose clauses all hold decides; `decide` says which, and why.

Source: docs/reference/ci-yaml.md, "Global keywords", "Includes", "Rules".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from domain.config.keywords import INCLUDE_RULE, RULE, WHEN, WORKFLOW_RULE, Vocabulary
from domain.config.plan import Variable
from domain.config.readers.needs import Needs
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import NOWHERE, Items, Place
from domain.config.rules.expression import Expression, Expressions
from domain.config.rules.path_clauses import (
    MAX_PATTERNS,
    Changes,
    Exists,
    Finding,
    PathMatches,
    find_changed,
    find_existing,
)
from domain.config.rules.rule_items import read_item
from domain.config.rules.scope import Scope
from domain.config.sources import HERE, Origin, Sources
from domain.config.why import Clause, Why
from domain.errors import Invalid

NEVER: Final = "never"
_NO_LIST: Final = "should be an array containing hashes and arrays of hashes"


class RuleKind(StrEnum):
    """Whose rules they are."""

    JOB = "job"
    WORKFLOW = "workflow"
    INCLUDE = "include"


class _Form(NamedTuple):
    """What an item of one kind may say, and how its name starts."""

    keys: Vocabulary
    when: tuple[str, ...]
    prefix: str
    most_existing: int | None


_FORMS: Final[Mapping[RuleKind, _Form]] = {
    RuleKind.JOB: _Form(RULE, (*WHEN[:3], NEVER, *WHEN[3:]), "rules", MAX_PATTERNS),
    RuleKind.WORKFLOW: _Form(WORKFLOW_RULE, ("always", NEVER), "workflow:rules", MAX_PATTERNS),
    RuleKind.INCLUDE: _Form(INCLUDE_RULE, (NEVER, "always"), "include:rules", None),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One item. What is not given is None or empty; `start_in` is seconds.

    `name` is as `rules[0]`, counted after nested lists are flattened. `expression` is what stands there as clauses, and
    `names` are the variables in them.
    """

    name: str
    place: Place = NOWHERE
    condition: Expression | None = None
    changes: Changes | None = None
    exists: Exists | None = None
    when: str | None = None
    start_in: int | None = None
    allow_failure: bool | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    needs: Needs | None = None
    interruptible: bool | None = None
    auto_cancel: Mapping[str, str] = field(default_factory=dict)
    expression: str = ""
    names: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """The rule that decided (None: no one matched) and why; `error` is what went wrong while `rule` was looked at."""

    rule: Rule | None
    why: Why
    error: str | None = None


def read_rules(field: Field, *, kind: RuleKind, expressions: Expressions | None = None) -> tuple[Rule, ...] | None:
    """A list of rules, or of such lists; hand in one `expressions` for all that a configuration holds."""
    if not isinstance(field.value, Items):
        field.fault(_NO_LIST)
        return None
    if not field.value:
        field.fault("can't be blank; leave the key out, or write an item with `when`")
        return None
    expressions = Expressions() if expressions is None else expressions
    form, path = _FORMS[kind], f"{field.path}:rule"
    found: list[Rule] = []
    try:
        for index, element in enumerate(checks.flattened(field)):
            item = Field(element.value, path, f"{path} config", element.place, field.issues)
            given = read_item(item, form.keys, form.when, form.most_existing, expressions)
            if given is not None:
                found.append(Rule(f"{form.prefix}[{index}]", element.place, **given))
    except Invalid:
        field.fault(f"{_NO_LIST}, up to {checks.NESTING} levels deep")
        return None
    return tuple(found)


def needs_warning(rules: Sequence[Rule]) -> bool:
    """Whether the last item is just a `when` other than never; then one push may make two pipelines.

    It holds only for a configuration without `workflow:rules`.
    """
    return bool(rules) and rules[-1].keys == {"when"} and rules[-1].when != NEVER


def decide(
    rules: Sequence[Rule],
    scope: Scope,
    sources: Sources,
    *,
    origin: Origin = HERE,
    name: str = "rules",
    matches: PathMatches | None = None,
) -> Decision:
    """Find the first rule whose clauses all hold. What is not known yet is asked for, and any verdict is given then.

    `matches` remembers what globs matched; hand in one for all decisions of a configuration.
    """
    matches = PathMatches() if matches is None else matches
    tried: list[Clause] = []
    for rule in rules:
        try:
            finding = _finding(rule, scope, sources, origin, matches)
        except Invalid as error:
            why = Why(included=False, clause=rule.name, text=str(error), tried=tuple(tried))
            return Decision(rule, why, error=str(error))
        tried.append(_clause(rule, finding, scope))
        if finding.holds:
            return Decision(rule, _why(rule, tuple(tried)))
    text = f"no item of `{name}` matched" if rules else f"`{name}` has no item"
    return Decision(None, Why(included=False, clause=name, text=text, tried=tuple(tried)))


def _finding(rule: Rule, scope: Scope, sources: Sources, origin: Origin, matches: PathMatches) -> Finding:
    """Whether all clauses hold. Later ones are looked at while those before hold, or are not known yet."""
    if rule.condition is not None and not rule.condition.evaluate(scope.get):
        return Finding(holds=False, detail="")
    findings: list[Finding] = []
    if rule.changes is not None:
        findings.append(find_changed(rule.changes, scope, sources, matches))
    if rule.exists is not None and all(finding.holds or not finding.known for finding in findings):
        findings.append(find_existing(rule.exists, scope, sources, matches, origin=origin))
    return Finding(
        holds=all(finding.holds for finding in findings),
        detail="; ".join(finding.detail for finding in findings),
    )


def _clause(rule: Rule, finding: Finding, scope: Scope) -> Clause:
    return Clause(
        name=rule.name,
        matched=finding.holds,
        expression=rule.expression,
        values=scope.shown(rule.names) if rule.names else {},
        private=scope.private(rule.names),
        detail=finding.detail,
        file=rule.place.file,
        line=rule.place.line,
    )


def _why(rule: Rule, tried: tuple[Clause, ...]) -> Why:
    reason = "matched" if rule.expression else "has no condition, so it always matches"
    says = f", and it says `when: {rule.when}`" if rule.when else ""
    return Why(included=rule.when != NEVER, clause=rule.name, text=f"`{rule.name}` {reason}{says}", tried=tried)
