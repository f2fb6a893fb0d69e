"""Which variables of instance, groups and project a job gets."""

import pytest

from domain.variables.ci_variables import CiVariable, as_job_variable, cannot_be_masked, chosen
from domain.variables.job_variables import JobVariable


def values(*variables: CiVariable, protected: bool = False, environment: str = "") -> dict[str, str]:
    return {item.key: item.value for item in chosen(variables, protected=protected, environment=environment)}


def test_the_nearest_owner_wins_whatever_the_order() -> None:
    instance, group, own = (CiVariable("A", value, level) for level, value in enumerate(("far", "near", "own")))
    assert values(instance, group, own) == values(own, group, instance) == {"A": "own"}
    assert values(group, instance) == {"A": "near"}


def test_protected_ones_are_for_protected_refs_and_hide_nothing_elsewhere() -> None:
    both = (CiVariable("A", "open", 1), CiVariable("A", "secret", 2, protected=True))
    assert values(*both) == {"A": "open"}
    assert values(*both, protected=True) == {"A": "secret"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ("", "any"),
        ("test", "any"),
        ("review/app", "reviews"),
        ("review/one", "exact"),
        ("production", "live"),
        ("production/eu", "any"),
    ],
)
def test_the_most_exact_scope_wins(environment: str, expected: str) -> None:
    scoped = [
        CiVariable("A", "any", 2),
        CiVariable("A", "reviews", 2, environment_scope="review/*"),
        CiVariable("A", "exact", 2, environment_scope="review/one"),
        CiVariable("A", "live", 2, environment_scope="production"),
    ]
    assert values(*scoped, environment=environment) == {"A": expected}


def test_an_owner_that_is_nearer_wins_over_a_scope_that_is_more_exact() -> None:
    both = (CiVariable("A", "group", 1, environment_scope="live"), CiVariable("A", "project", 2))
    assert values(*both, environment="live") == {"A": "project"}


def test_a_scope_of_everything_but_written_so_needs_an_environment() -> None:
    assert values(CiVariable("A", "x", environment_scope="**")) == {}
    assert values(CiVariable("A", "x", environment_scope="**"), environment="any") == {"A": "x"}


def test_they_are_never_for_service_containers() -> None:
    given = CiVariable("A", "$B", 1, file=True, masked=True, raw=True)
    assert as_job_variable(given) == JobVariable("A", "$B", public=False, masked=True, file=True, raw=True)


@pytest.mark.parametrize(
    ("value", "fault"), [("short", "too short"), ("with a blank", "whitespace"), ("long-enough", "")]
)
def test_what_logs_cannot_hide_is_no_masked_value(value: str, fault: str) -> None:
    assert fault in cannot_be_masked(value)
    assert bool(fault) == bool(cannot_be_masked(value))
