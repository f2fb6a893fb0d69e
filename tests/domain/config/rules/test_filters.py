"""`only` and `except`: what may be written, and who is in."""

from collections.abc import Mapping

import pytest

from domain.config.context import Context, RefKind
from domain.config.rules.filters import Filter, RefItem, decide_filters, read_filter
from domain.config.rules.rules import Decision
from domain.config.rules.scope import Scope
from domain.config.sources import Answer, ChangedPaths, Paths, Request, Sources
from domain.config.why import PRESENT
from tests.domain.config.reading.fields import given, refused

MAIN = Context(ref="main", project_path="group/project")
TAG = Context(ref="v1.0", ref_kind=RefKind.TAG)
MERGE = Context(source="merge_request_event", ref="main", ref_kind=RefKind.MERGE_REQUEST)
NIGHT = Context(source="schedule", ref="main")


def read(text: str | None) -> Filter | None:
    """A right filter."""
    found: Filter | None = given(read_filter, "only", text) if text else None
    return found


def decided(
    only: str | None = None,
    excepted: str | None = None,
    context: Context = MAIN,
    *,
    default: bool = True,
    known: Mapping[Request, Answer] | None = None,
    **values: str,
) -> Decision:
    """The decision on a job with these keywords."""
    known = known or {ChangedPaths(): Paths(known=False)}
    scope = Scope([values])
    return decide_filters(read(only), read(excepted), scope, context, Sources(known), default=default)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("main", "only config has to be either an array of conditions or a hash"),
        ("1", "only config has to be either an array of conditions or a hash"),
        ("{}", "only config can't be blank"),
        ("[1]", "only config should be an array of strings or regular expressions using re2 syntax"),
        ("[main, [a]]", "only config should be an array of strings or regular expressions"),
        ("[/a(/]", "only config should be an array of strings or regular expressions using re2 syntax"),
        ("[/^(?!main)/]", "should be an array of strings or regular expressions using re2 syntax"),
        ("{refs: main}", "only refs should be an array of strings or regular expressions using re2 syntax"),
        ("{ref: [main]}", "only config contains unknown keys: ref; did you mean `refs`?"),
        ("{variables: $A}", "only variables should be an array of strings"),
        ("{variables: [1]}", "only variables should be an array of strings"),
        ("{variables: [$A, $B ==]}", "only variables invalid expression syntax at character 6"),
        ("{changes: a}", "only changes should be an array of strings"),
        ("{kubernetes: passive}", "only kubernetes unknown value: passive"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    found = refused(read_filter, "only", text)
    assert len(found) == 1
    assert message in found[0][2]


def test_what_is_read() -> None:
    found = read("{refs: [main@g/p], variables: [$A && $B, $A], changes: ['$C/*'], kubernetes: active}")
    assert found is not None
    assert found.refs == (RefItem("main@g/p", "main", project="g/p"),)
    assert found.names == ("A", "B", "C")
    assert (found.changes, found.kubernetes) == (("$C/*",), True)


@pytest.mark.parametrize(
    ("refs", "context", "expected"),
    [
        ("[branches]", MAIN, True),
        ("[branches]", TAG, False),
        ("[branches]", MERGE, False),
        ("[branches]", NIGHT, True),
        ("[tags]", TAG, True),
        ("[tags]", MAIN, False),
        ("[main]", MAIN, True),
        ("[main]", NIGHT, True),
        ("[other]", MAIN, False),
        ("[main]", MERGE, False),
        ("[/^ma/]", MERGE, False),
        ("[/^ma/]", MAIN, True),
        ("[/^MA/]", MAIN, False),
        ("[/^MA/i]", MAIN, True),
        ("[/./]", MAIN, True),
        ("[/^v\\d/]", TAG, True),
        ("[pushes]", MAIN, True),
        ("[push]", MAIN, True),
        ("[pushs]", MAIN, False),
        ("[merge_requests]", MERGE, True),
        ("[merge_request]", MERGE, True),
        ("[merge_request_event]", MERGE, False),
        ("[external_pull_requests]", Context(source="external_pull_request_event"), True),
        ("[schedules]", NIGHT, True),
        ("[schedules]", MAIN, False),
        ("[web]", Context(source="web"), True),
        ("[webs]", Context(source="web"), True),
        ("[triggers]", Context(source="trigger"), True),
        ("[api]", Context(source="api"), True),
        ("[pipelines]", Context(source="pipeline"), True),
        ("[chat]", Context(source="chat"), True),
        ("[security_orchestration_policies]", Context(source="security_orchestration_policy"), True),
        ("[main@group/project]", MAIN, True),
        ("[main@group/fork]", MAIN, False),
        ("[branches@group/project]", MAIN, True),
        ("[/^m/@group/project]", MAIN, True),
        ("[/^m/@group/fork]", MAIN, False),
        ("[other, schedules, main]", MAIN, True),
        ("[]", MAIN, False),
    ],
)
def test_refs(refs: str, context: Context, expected: bool) -> None:
    assert decided(refs, context=context).why.included is expected
    assert decided(f"{{refs: {refs}}}", context=context).why.included is expected
    assert decided(None, refs, context, default=False).why.included is not expected


def test_the_default_is_branches_and_tags() -> None:
    assert decided().why.included
    assert decided(context=TAG).why.included
    merge = decided(context=MERGE).why
    assert (merge.included, merge.clause) == (False, "default only")
    assert not decided(None, "[tags]", MERGE).why.included
    assert decided(context=MERGE, default=False).why == PRESENT


def test_only_without_refs_keeps_the_default() -> None:
    for default in (True, False):
        assert decided("{variables: [$A]}", A="x", default=default).why.included
        assert not decided("{variables: [$A]}", context=MERGE, A="x", default=default).why.included


def test_the_keys_of_only_must_all_hold() -> None:
    known: dict[Request, Answer] = {ChangedPaths(): Paths(("docs/a",))}
    text = "{refs: [main], variables: ['$A == \"1\"', '$A == \"2\"'], changes: [docs/*, src/*]}"
    assert decided(text, known=known, A="2").why.included
    for why, clause in (
        (decided(text, known=known, A="2", context=TAG).why, "only:refs"),
        (decided(text, known=known, A="3").why, "only:variables"),
        (decided(text, known={ChangedPaths(): Paths(("a",))}, A="1").why, "only:changes"),
        (decided("{kubernetes: active}").why, "only:kubernetes"),
    ):
        assert (why.included, why.clause) == (False, clause)


def test_one_key_of_except_is_enough() -> None:
    known: dict[Request, Answer] = {ChangedPaths(): Paths(("docs/a",))}
    text = "{refs: [other], variables: [$A], changes: [src/*], kubernetes: active}"
    assert decided(None, text, known=known).why.included
    for why, clause in (
        (decided(None, text, Context(ref="other"), known=known).why, "except:refs"),
        (decided(None, text, known=known, A="1").why, "except:variables"),
        (decided(None, text, known={ChangedPaths(): Paths(("src/a",))}).why, "except:changes"),
    ):
        assert (why.included, why.clause) == (False, clause)


def test_an_unknown_change_counts_as_one() -> None:
    assert decided("{changes: [a]}").why.included
    assert not decided(None, "{changes: [a]}").why.included
    assert not decided("{changes: [a]}", known={ChangedPaths(): Paths(())}).why.included


def test_the_number_of_comparisons_does_not_matter() -> None:
    known: dict[Request, Answer] = {ChangedPaths(): Paths(tuple(map(str, range(60_000))))}
    assert not decided("{changes: ['a*']}", known=known).why.included


def test_why_says_what_was_seen() -> None:
    why = decided("{refs: [main], variables: [$A]}").why
    refs, variables = why.tried
    assert (refs.name, refs.matched, refs.detail) == ("only:refs", True, "matched: main")
    assert (variables.expression, variables.values, variables.line) == ("variables: $A", {"A": None}, 1)
    assert why.text == "`only:variables` does not hold"


def test_what_is_not_known_is_asked_for() -> None:
    sources = Sources()
    decide_filters(read("{changes: [a]}"), None, Scope([]), MAIN, sources, default=True)
    assert sources.wanted == (ChangedPaths(),)
