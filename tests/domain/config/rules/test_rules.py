"""Rules: what may be written, which one decides, and why."""

from dataclasses import replace

import pytest

from domain.config.plan import Variable
from domain.config.reading.tree import Place
from domain.config.rules.expression import Expressions
from domain.config.rules.path_clauses import Changes, Exists, PathMatches
from domain.config.rules.rules import Decision, Rule, RuleKind, decide, needs_warning, read_rules
from domain.config.rules.scope import Scope
from domain.config.sources import HERE, Absent, Answer, ChangedPaths, Origin, Paths, Request, Sources, Tree
from domain.config.why import Clause
from tests.domain.config.reading.fields import field_of, given, refused

OTHER = Tree(project="group/other", ref="v1")


def rules(text: str, kind: RuleKind = RuleKind.JOB) -> tuple[Rule, ...]:
    """Right rules, as they are read."""
    found: tuple[Rule, ...] = given(lambda field: read_rules(field, kind=kind), "rules", text)
    return found


def said(text: str, kind: RuleKind = RuleKind.JOB) -> list[str]:
    """What is said of wrong rules, without the job's name."""
    found = refused(lambda field: read_rules(field, kind=kind), "rules", text)
    return [message.removeprefix("jobs:a:") for _, _, message in found]


def decided(text: str, known: dict[Request, Answer] | None = None, **values: str) -> Decision:
    """The decision on rules, given answers and variables."""
    return decide(rules(text), Scope([values]), Sources(known))


def test_every_key_is_read() -> None:
    [rule] = rules(
        "[{if: $A, changes: {paths: [a/*], compare_to: main}, exists: b, when: delayed, start_in: 2 minutes,"
        " allow_failure: true, variables: {V: 1}, needs: [x], interruptible: false}]"
    )
    assert rule.condition is not None
    assert rule.condition.names == ("A",)
    assert (rule.changes, rule.exists) == (Changes(("a/*",), "main"), Exists(("b",)))
    assert (rule.when, rule.start_in, rule.allow_failure, rule.interruptible) == ("delayed", 120, True, False)
    assert rule.variables == {"V": Variable("1")}
    assert rule.needs is not None
    assert [need.job for need in rule.needs.local] == ["x"]
    assert (rule.name, rule.expression) == ("rules[0]", "if: $A; changes: a/*; exists: b")


def test_what_is_not_given_is_none() -> None:
    assert rules("[{when: always, if: null}]") == (
        replace(Rule("rules[0]"), place=Place(1, 9), when="always", keys=frozenset({"when"})),
    )


def test_lists_within_lists_are_flattened() -> None:
    assert [(rule.name, rule.when) for rule in rules("[{when: never}, [[{when: always}], {when: manual}]]")] == [
        ("rules[0]", "never"),
        ("rules[1]", "always"),
        ("rules[2]", "manual"),
    ]
    assert len(rules("[" * 10 + "{when: always}" + "]" * 10)) == 1
    assert said("[" * 11 + "{when: always}" + "]" * 11) == [
        "rules config should be an array containing hashes and arrays of hashes, up to 10 levels deep"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{when: always}", "rules config should be an array"),
        ("always", "rules config should be an array"),
        ("[]", "rules config can't be blank"),
        ("[always]", "rules:rule config should be a hash"),
        ("[1]", "rules:rule config should be a hash"),
        ("[{}]", "rules:rule config can't be blank: it should be a hash"),
        ("[null]", "rules:rule config can't be blank: it should be a hash"),
        ("[{unless: $A}]", "rules:rule config contains unknown keys: unless"),
        ("[{if: $A, whne: never}]", "contains unknown keys: whne; did you mean `when`?"),
        ("[{auto_cancel: {on_new_commit: none}}]", "contains unknown keys: auto_cancel"),
        ("[{if: $A ==}]", "rules:rule if invalid expression syntax at character 6"),
        ("[{if: [$A]}]", "rules:rule if invalid expression syntax: it should be a string"),
        ("[{if: true}]", "rules:rule if invalid expression syntax"),
        ("[{if: ''}]", "rules:rule if invalid expression syntax"),
        ("[{if: $A =~ /./}]", "rules:rule if invalid expression syntax"),
        ("[{when: explode}]", "rules:rule when unknown value: explode; it should be one of: on_success, on_failure,"),
        ("[{when: false}]", "rules:rule when unknown value: false"),
        ("[{when: [always]}]", "rules:rule when unknown value: Items"),
        ("[{allow_failure: sometimes}]", "rules:rule allow failure should be a boolean value"),
        ("[{allow_failure: {exit_codes: 1}}]", "rules:rule allow failure should be a boolean value"),
        ("[{interruptible: 1}]", "rules:rule interruptible should be a boolean value"),
        ("[{variables: text}]", "rules:rule:variables config should be a hash"),
        ("[{variables: {A: [1]}}]", "variable definition must be either a string or a hash"),
        ("[{needs: alpha}]", "rules:rule:needs config can only be a hash or an array"),
        ("[{when: delayed}]", "rules:rule start in should be a duration"),
        ("[{when: delayed}]", "start in can't be blank"),
        ("[{when: delayed, start_in: soon}]", "rules:rule start in should be a duration"),
        ("[{when: delayed, start_in: 8 days}]", "rules:rule start in should not exceed the limit"),
        ("[{when: manual, start_in: 1 day}]", "rules:rule config contains disallowed keys: start_in"),
        ("[{changes: a}]", "rules:rule:changes config should be an array or a hash"),
        ("[{changes: a}]", "should be an array of strings"),
        ("[{changes: [1]}]", "rules:rule:changes config should be an array of strings"),
        ("[{changes: {}}]", "rules:rule:changes config missing required keys: paths"),
        ("[{changes: {paths: a}}]", "rules:rule:changes paths should be an array of strings"),
        ("[{changes: {paths: [a], compare_to: 1}}]", "rules:rule:changes compare to should be a string"),
        ("[{changes: {paths: [a], ref: b}}]", "rules:rule:changes config contains unknown keys: ref"),
        (f"[{{changes: [{'a,' * 51}]}}]", "rules:rule:changes config has too many entries (maximum 50)"),
        (f"[{{changes: {{paths: [{'a,' * 51}]}}}}]", "rules:rule:changes paths has too many entries (maximum 50)"),
        ("[{exists: 1}]", "rules:rule:exists config should be a string, an array of strings, or a hash"),
        ("[{exists: [1]}]", "rules:rule:exists config should be an array of strings"),
        ("[{exists: {project: a}}]", "rules:rule:exists config missing required keys: paths"),
        ("[{exists: {paths: [a], ref: b}}]", "rules:rule:exists config missing required keys: project"),
        ("[{exists: {paths: [a], branch: b}}]", "rules:rule:exists config contains unknown keys: branch"),
        (f"[{{exists: [{'a,' * 51}]}}]", "rules:rule:exists config has too many entries (maximum 50)"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    found = said(text)
    assert len(found) == 1
    assert message in found[0]


def test_all_faults_of_all_items_are_told_at_their_places() -> None:
    found = refused(
        lambda field: read_rules(field, kind=RuleKind.JOB), "rules", "\n  - when: no\n  - {if: $A =, x: 1}\n  - 3"
    )
    assert [line for line, _, _ in found] == [2, 3, 3, 4]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (RuleKind.WORKFLOW, "[{when: manual}]", "when unknown value: manual; it should be one of: always, never"),
        (RuleKind.WORKFLOW, "[{when: on_success}]", "when unknown value: on_success"),
        (RuleKind.WORKFLOW, "[{interruptible: true}]", "contains unknown keys: interruptible"),
        (RuleKind.WORKFLOW, "[{auto_cancel: {on_new_commit: x}}]", "on new commit must be one of: conservative,"),
        (
            RuleKind.INCLUDE,
            "[{when: on_success}]",
            "when unknown value: on_success; it should be one of: never, always",
        ),
        (RuleKind.INCLUDE, "[{if: $A, variables: {A: 1}}]", "contains unknown keys: variables"),
        (RuleKind.INCLUDE, "[{if: $A, start_in: 1 day}]", "contains unknown keys: start_in"),
    ],
)
def test_other_kinds_say_less(kind: RuleKind, text: str, message: str) -> None:
    found = said(text, kind)
    assert len(found) == 1
    assert message in found[0]


def test_other_kinds_are_read() -> None:
    [rule] = rules("[{if: $A, variables: {A: 1}, auto_cancel: {on_new_commit: none}}]", RuleKind.WORKFLOW)
    assert (rule.name, rule.auto_cancel) == ("workflow:rules[0]", {"on_new_commit": "none"})
    [rule] = rules(f"[{{exists: [{'a,' * 60}], when: never}}]", RuleKind.INCLUDE)
    assert rule.name == "include:rules[0]"
    assert rule.exists is not None
    assert len(rule.exists.paths) == 60


def test_conditions_are_parsed_once() -> None:
    expressions = Expressions()
    first, second = (
        read_rules(field_of("rules", "[{if: $A}]"), kind=RuleKind.JOB, expressions=expressions) for _ in range(2)
    )
    assert first
    assert second
    assert first[0].condition is second[0].condition


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("[{when: always}]", True),
        ("[{if: $A}, {when: manual}]", True),
        ("[{when: never}]", False),
        ("[{if: $A, when: always}]", False),
        ("[{when: always, allow_failure: true}]", False),
        ("[{allow_failure: true}]", False),
        ("[{when: always}, {if: $A}]", False),
        ("[[]]", False),
    ],
)
def test_warning(text: str, warned: bool) -> None:
    assert needs_warning(rules(text)) is warned


def test_the_first_rule_that_matches_decides_and_says_why() -> None:
    decision = decided("[{if: $A == 'x'}, {if: $B, when: manual}, {when: never}]", A="y", B="yes")
    assert decision.rule is not None
    assert (decision.rule.name, decision.rule.when) == ("rules[1]", "manual")
    assert (decision.why.included, decision.why.clause) == (True, "rules[1]")
    assert decision.why.text == "`rules[1]` matched, and it says `when: manual`"
    assert decision.why.tried == (
        Clause("rules[0]", matched=False, expression="if: $A == 'x'", values={"A": "y"}, line=1),
        Clause("rules[1]", matched=True, expression="if: $B", values={"B": "yes"}, line=1),
    )


def test_never_and_no_match_leave_a_job_out() -> None:
    never = decided("[{if: $A, when: never}]", A="x")
    assert (never.why.included, never.why.clause, never.rule is None) == (False, "rules[0]", False)
    nothing = decided("[{if: $A}]")
    assert (nothing.why.included, nothing.why.clause, nothing.rule) == (False, "rules", None)
    assert nothing.why.tried[-1].values == {"A": None}
    named = decide((), Scope([]), Sources(), name="workflow:rules")
    assert (named.why.clause, named.why.text) == ("workflow:rules", "`workflow:rules` has no item")


def test_an_item_without_clause_always_matches() -> None:
    decision = decided("[{allow_failure: true}]")
    assert decision.why.text == "`rules[0]` has no condition, so it always matches"


def test_masked_values_stay_hidden() -> None:
    decision = decide(rules("[{if: $KEY}]"), Scope([{"KEY": "secret"}], hidden=frozenset({"KEY"})), Sources())
    assert decision.why.tried[0].values == {"KEY": "[masked]"}


@pytest.mark.parametrize(
    ("changes", "answer", "matched", "detail"),
    [
        ("[docs/**/*]", Paths(("src/a", "docs/b/c.md")), True, "changed: docs/b/c.md"),
        ("[docs/**/*, src/a]", Paths(("src/a",)), True, "changed: src/a"),
        ("['$DIR/*']", Paths(("lib/a",)), True, "changed: lib/a"),
        ("['$NESTED/*']", Paths(("lib/x/a",)), True, "changed: lib/x/a"),
        ("['$UNKNOWN/*']", Paths(("$UNKNOWN/a",)), True, "changed: $UNKNOWN/a"),
        ("[docs/*]", Paths(("docs/a/b", "c")), False, "none of 2 changed files matches"),
        ("[docs/]", Paths(("docs/a",)), False, "none of 1 changed files matches"),
        ("['**/*']", Paths(()), False, "none of 0 changed files matches"),
        ("[]", Paths(("a",)), False, "none of 1 changed files matches"),
        ("[a]", Paths(known=False), True, "no list of changed files is known, which counts as a change"),
        ("[x, y]", Paths(tuple(map(str, range(25_000)))), False, "none of 25,000 changed files matches"),
        (
            "[x, y]",
            Paths(tuple(map(str, range(25_001)))),
            True,
            "more than 50,000 comparisons, which counts as a match",
        ),
    ],
)
def test_changes(changes: str, answer: Answer, matched: bool, detail: str) -> None:
    decision = decided(f"[{{changes: {changes}}}]", {ChangedPaths(): answer}, DIR="lib", NESTED="$DIR/x")
    assert decision.why.included is matched
    assert decision.why.tried[0].detail == detail


def test_changes_since_a_ref() -> None:
    text = "[{changes: {paths: [a], compare_to: 'refs/${NAME}'}}]"
    assert decided(text, {ChangedPaths("refs/v1"): Paths(("a",))}, NAME="v1").why.included
    wrong = decided(text, {ChangedPaths("refs/v2"): Absent()}, NAME="v2")
    assert wrong.error == "rules:changes:compare_to is not a valid ref"
    assert not wrong.why.included


FILES = Paths(("Dockerfile", "cmd/main.go", "docs/a/b.md", ".env", "lib/a.py"))


@pytest.mark.parametrize(
    ("exists", "detail"),
    [
        ("Dockerfile", "exists: Dockerfile"),
        ("[nothing, Dockerfile]", "exists: Dockerfile"),
        ("['**/*.go']", "exists: cmd/main.go"),
        ("['*.py']", "no such file"),
        ("[a.py]", "no such file"),
        ("['**.py']", "no such file"),
        ("[docs/]", "exists: docs/a/b.md"),
        ("[docs/a/]", "exists: docs/a/b.md"),
        ("[Dockerfile/]", "no such file"),
        ("[docs]", "no such file"),
        ("['docs/**/*']", "exists: docs/a/b.md"),
        ("['*']", "exists: Dockerfile"),
        ("['$DIR/*.py']", "exists: lib/a.py"),
        ("$FILE", "exists: lib/a.py"),
        ("[]", "there are no files to look at"),
        ("{paths: [a.md], project: 'group/$NAME', ref: v1}", "exists: a.md"),
        ("{paths: [Dockerfile], project: group/other, ref: v1}", "no such file"),
    ],
)
def test_exists(exists: str, detail: str) -> None:
    known: dict[Request, Answer] = {Tree(): FILES, OTHER: Paths(("a.md",))}
    decision = decided(f"[{{exists: {exists}}}]", known, DIR="lib", FILE="lib/a.py", NAME="other")
    assert decision.why.included is detail.startswith("exists")
    assert decision.why.tried[0].detail == detail


def test_exists_counts_comparisons_with_real_globs_only() -> None:
    known: dict[Request, Answer] = {Tree(): Paths(tuple(f"a/{number}.py" for number in range(25_001)))}
    assert not decided("[{exists: [b/c, '**/*.go']}]", known).why.included
    assert not decided("[{exists: ['b/*']}]", known).why.included
    assert not decided("[{exists: ['b*', 'c*']}]", known).why.included
    assert decided("[{exists: ['b/*', 'c/*']}]", known).why.included


def test_exists_elsewhere() -> None:
    text = "[{exists: {paths: [a], project: '$NAME', ref: v1}}]"
    assert decided(text, {Tree(project="g/p", ref="v1"): Absent("No access")}, NAME="g/p").error == "No access"
    error = decided(text, {Tree(project="g/p", ref="v1"): Absent()}, NAME="g/p").error
    assert error == "rules:exists:ref `v1` is not a valid ref in project `$NAME`"
    error = decided("[{exists: {paths: [a], project: g/p}}]", {Tree(project="g/p"): Absent()}).error
    assert error == "rules:exists:project `g/p` is not a valid project path"


def test_exists_looks_where_the_file_comes_from() -> None:
    found = rules("[{exists: [a]}]", RuleKind.INCLUDE)
    origin = Origin("g/p", "abc")
    assert decide(found, Scope([]), Sources({Tree(origin): Paths(("a",))}), origin=origin).why.included
    outside = Sources()
    assert not decide(found, Scope([]), outside, origin=Origin(detached=True)).why.included
    assert not outside.wanted


def test_all_clauses_of_an_item_must_hold() -> None:
    known: dict[Request, Answer] = {ChangedPaths(): Paths(("a",)), Tree(): FILES}
    for text, matched in (
        ("[{if: $A, changes: [a], exists: [Dockerfile]}]", True),
        ("[{if: $B, changes: [a], exists: [Dockerfile]}]", False),
        ("[{if: $A, changes: [b], exists: [Dockerfile]}]", False),
        ("[{if: $A, changes: [a], exists: [b]}]", False),
    ):
        assert decided(text, known, A="x").why.included is matched


def test_what_is_not_known_is_asked_for_in_one_round() -> None:
    sources = Sources()
    never = "{if: $A, changes: {paths: [a], compare_to: c}}"
    found = rules(f"[{{changes: [a], exists: [b]}}, {never}, {{exists: {{paths: [a], project: p}}}}]")
    decide(found, Scope([]), sources)
    assert sources.wanted == (ChangedPaths(), Tree(HERE), Tree(project="p"))


def test_nothing_is_asked_for_in_vain() -> None:
    sources = Sources({ChangedPaths(): Paths(())})
    decide(
        rules("[{if: $A, exists: [b]}, {changes: [a], exists: [b]}, {when: always}, {exists: [b]}]"), Scope([]), sources
    )
    assert not sources.wanted


def test_globs_are_compared_once() -> None:
    matches = PathMatches(work=60_000)
    sources = Sources({ChangedPaths(): Paths(("a/b",))})
    found = rules("[{changes: ['c/*']}]")
    for _ in range(50):
        assert decide(found, Scope([]), sources, matches=matches).rule is None
    assert not matches.exhausted


def test_all_globs_together_have_a_limit() -> None:
    matches = PathMatches(work=1_000)
    sources = Sources({ChangedPaths(): Paths(("a/b",)), Tree(): Paths(("a/b",))})
    assert decide(rules("[{changes: ['c/*']}]"), Scope([]), sources, matches=matches).rule is None
    assert decide(rules("[{changes: ['d/*']}]"), Scope([]), sources, matches=matches).rule is not None
    assert decide(rules("[{exists: ['d/*']}]"), Scope([]), sources, matches=matches).rule is not None


def test_a_glob_that_is_too_long_is_an_error_of_the_decision() -> None:
    decision = decided(f"[{{changes: ['{'a' * 5_000}*']}}]", {ChangedPaths(): Paths(("a",))})
    assert decision.error is not None
    assert "too long for a glob" in decision.error
