"""CI/CD variables of a project that is imported."""

from typing import Any

import pytest

from domain.project_import.plan import Outcome, Plan
from domain.project_import.variables import plan


def gitlab(key: str = "KEY", **more: Any) -> dict[str, Any]:
    """A variable as GitLab shows it."""
    return {
        "variable_type": "env_var",
        "key": key,
        "value": "one",
        "protected": False,
        "masked": False,
        "hidden": False,
        "raw": False,
        "environment_scope": "*",
        "description": None,
        **more,
    }


def test_a_missing_one_is_made_in_one_call_with_all_its_flags() -> None:
    source = gitlab(protected=True, masked=True, raw=True, variable_type="file", environment_scope="prod/*")
    (item,) = plan([source], []).items
    (call,) = item.calls
    assert (item.outcome, item.name) == (Outcome.CREATED, "KEY (prod/*)")
    assert (call.method, call.route) == ("POST", "/variables")
    assert call.body == {
        "key": "KEY",
        "value": "one",
        "environment_scope": "prod/*",
        "protected": True,
        "masked": True,
        "raw": True,
        "variable_type": "file",
        "description": "",
    }


def test_one_that_is_as_it_should_be_is_left_alone() -> None:
    assert plan([gitlab(description=None)], [gitlab(description="")]).items[0].calls == ()


@pytest.mark.parametrize(
    "here",
    [
        {"value": "two"},
        {"protected": True},
        {"masked": True},
        {"raw": True},
        {"variable_type": "file"},
        {"value": None},
    ],
)
def test_one_that_differs_is_changed_in_one_call(here: dict[str, Any]) -> None:
    (item,) = plan([gitlab("A/B")], [gitlab("A/B", **here)]).items
    (call,) = item.calls
    assert (item.outcome, call.method, call.route) == (Outcome.UPDATED, "PUT", "/variables/A%2FB")
    wanted = {"value": "one", "protected": False, "masked": False, "raw": False, "variable_type": "env_var"}
    assert call.body == {**wanted, "description": "", "filter": {"environment_scope": "*"}}


def test_those_of_one_key_are_told_apart_by_their_scope() -> None:
    here = [gitlab(value="other", environment_scope="prod"), gitlab()]
    items = plan([gitlab(), gitlab(environment_scope="prod")], here).items
    assert [(item.name, item.outcome) for item in items] == [("KEY", "unchanged"), ("KEY (prod)", "updated")]


def test_the_value_of_a_hidden_one_is_not_shown_so_it_is_told_how_to_set_it() -> None:
    made = plan([gitlab(hidden=True, masked=True, protected=True, value=None, environment_scope="prod")], [])
    assert made.items == ()
    (left,) = made.not_carried
    assert (left.kind, left.name, left.failed) == ("variable", "KEY (prod)", False)
    assert left.advice == "`perdure variable set KEY --hidden --protected --scope 'prod'`"


def test_a_hidden_one_that_was_set_here_since_is_no_matter_any_more() -> None:
    hidden = gitlab(hidden=True, masked=True, value=None)
    assert plan([hidden], [hidden]) == Plan(plan([hidden], [hidden]).items, ())
    assert plan([hidden], [hidden]).items[0].outcome == "unchanged"


def test_a_hidden_one_whose_value_is_shown_becomes_hidden() -> None:
    (item,) = plan([gitlab(hidden=True, masked=True)], []).items
    assert item.calls[0].body["masked_and_hidden"] is True
    again = plan([gitlab(hidden=True, masked=True)], [gitlab(masked=True)])
    assert ("cannot become hidden" in again.not_carried[0].reason, again.items[0].calls) == (True, ())


def test_an_old_server_does_not_know_all_fields() -> None:
    (item,) = plan([{"key": "A", "value": "b"}], []).items
    assert item.calls[0].body["environment_scope"] == "*"


def test_no_value_is_in_what_may_be_printed() -> None:
    made = plan([gitlab(value="s3cret"), gitlab("B", value="s3cret")], [gitlab("B")])
    assert "s3cret" not in repr(made)
