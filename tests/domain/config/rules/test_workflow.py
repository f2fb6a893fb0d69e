"""`workflow`: rules, name and what is cancelled."""

import pytest

from domain.config.plan import AutoCancel
from domain.config.rules.rules import Rule
from domain.config.rules.workflow import Workflow, read_workflow, ruled_auto_cancel
from tests.domain.config.reading.fields import given, refused


def read(text: str) -> Workflow:
    """A right workflow."""
    found: Workflow = given(read_workflow, "workflow", text)
    return found


def test_what_is_read() -> None:
    workflow = read("{name: 'for $A', rules: [{if: $A, when: never}], auto_cancel: {on_job_failure: all}}")
    assert workflow.rules is not None
    assert [(rule.name, rule.when) for rule in workflow.rules] == [("workflow:rules[0]", "never")]
    assert (workflow.name, workflow.auto_cancel) == ("for $A", {"on_job_failure": "all"})
    assert read("{name: '', rules: null}") == Workflow()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("build", "workflow config should be a hash"),
        ("{rule: []}", "workflow config contains unknown keys: rule; did you mean `rules`?"),
        ("{rules: {when: always}}", "workflow:rules config should be an array"),
        ("{rules: []}", "workflow:rules config can't be blank"),
        ("{rules: [{when: manual}]}", "workflow:rules:rule when unknown value: manual"),
        ("{rules: [{if: $A =}]}", "workflow:rules:rule if invalid expression syntax"),
        ("{name: [a]}", "workflow name should be a string"),
        (f"{{name: {'a' * 256}}}", "workflow name is too long (maximum is 255 characters)"),
        ("{auto_cancel: none}", "workflow:auto_cancel config should be a hash"),
        ("{auto_cancel: {on_commit: none}}", "workflow:auto_cancel config contains unknown keys: on_commit"),
        (
            "{auto_cancel: {on_new_commit: all}}",
            "workflow:auto_cancel on new commit must be one of: conservative, interruptible, none",
        ),
        ("{auto_cancel: {on_job_failure: [all]}}", "workflow:auto_cancel on job failure must be one of: none, all"),
        (
            "{rules: [{auto_cancel: {on_new_commit: x}}]}",
            "rules:rule:auto_cancel on new commit must be one of: conservative, interruptible, none",
        ),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    found = refused(read_workflow, "workflow", text)
    assert len(found) == 1
    assert message in found[0][2]


def test_a_name_may_have_255_characters() -> None:
    assert len(read(f"{{name: {'a' * 255}}}").name) == 255


def test_a_rule_overrides_each_key() -> None:
    workflow = read("{auto_cancel: {on_new_commit: interruptible, on_job_failure: all}}")
    rule = Rule("workflow:rules[0]", auto_cancel={"on_new_commit": "none"})
    assert ruled_auto_cancel(Workflow()) == AutoCancel("conservative", "none")
    assert ruled_auto_cancel(workflow) == AutoCancel("interruptible", "all")
    assert ruled_auto_cancel(workflow, rule) == AutoCancel("none", "all")
    assert ruled_auto_cancel(Workflow(), rule) == AutoCancel("none", "none")
