"""Jobs laid over the jobs they extend."""

import pytest

from domain.config.extends import resolve
from domain.config.reading.budget import Budget
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.errors import ConfigInvalid
from tests.domain.config.short_texts import issues, messages, plan


def test_later_bases_win_and_the_job_wins_over_all() -> None:
    made = plan(
        """
        .one: {script: one, stage: build, variables: {A: one, B: one, C: one}}
        .two: {stage: deploy, variables: {B: two, C: two}, tags: [x, y]}
        job: {extends: [.one, .two], variables: {C: own}, tags: [z]}
        """
    ).jobs[0]
    assert (made.stage, made.script, made.tags) == ("deploy", ("one",), ("z",))
    assert {name: variable.value for name, variable in made.variables.items()} == {"A": "one", "B": "two", "C": "own"}


def test_null_unsets_what_was_inherited() -> None:
    made = plan(
        """
        .base: {script: x, tags: [a], needs: [], rules: [{when: never}], when: manual}
        job: {extends: .base, tags: null, needs: null, rules: null, when: null}
        """
    ).jobs[0]
    assert (made.tags, made.needs, made.when, made.allow_failure) == ((), None, "on_success", False)


def test_a_visible_job_is_extended_and_not_changed() -> None:
    first, second = plan("a: {script: x, when: manual, variables: {A: 1}}\nb: {extends: a, variables: {B: 2}}").jobs
    assert (set(first.variables), set(second.variables)) == ({"A"}, {"A", "B"})
    assert second.when == "manual"


def chain(links: int) -> str:
    """A job `j0` that reaches its script over so many links."""
    return "\n".join(f"j{at}: {{extends: j{at + 1}}}" for at in range(links)) + f"\nj{links}: {{script: x}}"


def test_eleven_links_are_followed() -> None:
    assert {job.script for job in plan(chain(11)).jobs} == {("x",)}


def test_twelve_links_are_too_many() -> None:
    assert messages(chain(12)) == ["j0: nesting too deep in `extends`"]


def test_a_chain_as_long_as_the_text_needs_no_stack() -> None:
    assert messages(chain(3000)) == ["j2988: nesting too deep in `extends`"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {extends: .x, script: x}", "a: unknown keys in `extends` (.x)"),
        ("a: {extends: [.x, .y], script: x}", "a: unknown keys in `extends` (.x, .y)"),
        (".s: hello\na: {extends: .s, script: x}", "a: invalid base hashes in `extends` (.s)"),
        ("a: {extends: a, script: x}", "a: circular dependency detected in `extends`"),
        ("a: {extends: b}\nb: {extends: c}\nc: {extends: b}", "b: circular dependency detected in `extends`"),
        ("a: {extends: 1, script: x}", "jobs:a extends should be an array of strings or a string"),
        ("a: {extends: [1], script: x}", "jobs:a extends should be an array of strings or a string"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    assert messages(text) == [said]


def test_other_jobs_may_need_one_that_could_not_be_extended() -> None:
    assert messages("a: {extends: .x}\nb: {script: x, needs: [a]}") == ["a: unknown keys in `extends` (.x)"]


def test_an_issue_stands_where_the_inherited_key_stands() -> None:
    found = issues(".base:\n  retry: 7\na: {extends: .base, script: x}")
    assert [(issue.path, issue.line, issue.column) for issue in found] == [("jobs:a:retry", 2, 3)]


def test_a_variable_may_be_called_extends() -> None:
    made = plan("variables: {extends: me}\na: {script: x}").jobs[0]
    assert made.variables["extends"].value == "me"


def test_copies_are_limited() -> None:
    found = Issues("ci.yml")
    root = read(".b: {variables: {A: 1, B: 2}}\nj: {extends: .b, variables: {C: 3}}", found).root
    with pytest.raises(ConfigInvalid, match="grows to more than 5 values"):
        resolve(root, found, Budget(5, found))
