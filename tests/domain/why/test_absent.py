"""Why a job is not in its pipeline, by what was kept of it."""

from typing import Any

import pytest

from domain.config.why import why_shown
from domain.why.absent import absent
from domain.why.explanation import Reason

CLAUSE = {
    "name": "rules[0]",
    "matched": False,
    "expression": "if: $LEVEL == 3",
    "values": {"LEVEL": "2"},
    "private": ["LEVEL"],
    "file": "ci/jobs.yml",
    "line": 9,
}
WHY: dict[str, Any] = {"included": False, "clause": "rules", "text": "no item of `rules` matched", "tried": [CLAUSE]}


def test_the_clause_its_place_and_what_it_saw_are_told() -> None:
    found = absent(why_shown(WHY, may_run=True))
    assert found.reason is Reason.ABSENT
    assert found.text == (
        "It is not in this pipeline: no item of `rules` matched. Last looked at, `rules[0]` asked for "
        '`if: $LEVEL == 3`, which did not hold (LEVEL is "2").'
    )
    assert "at ci/jobs.yml:9" in found.next_step
    assert found.facts["clause"] == "rules"


def test_who_may_only_read_sees_no_value() -> None:
    found = absent(why_shown(WHY, may_run=False))
    assert 'LEVEL is "[hidden]"' in found.text
    assert '"2"' not in str(found)


@pytest.mark.parametrize("why", [{}, {"text": "", "clause": ""}, {"text": "gone", "tried": []}])
def test_what_little_was_kept_is_told(why: dict[str, Any]) -> None:
    found = absent(why)
    assert found.text.startswith("It is not in this pipeline: ")
    assert found.next_step


def test_long_expressions_and_values_do_not_fill_the_page() -> None:
    clause = {**CLAUSE, "expression": "x" * 10_000, "values": {"LEVEL": "y" * 10_000}}
    found = absent({**WHY, "tried": [clause]})
    assert len(found.text) < 1_000
    assert found.facts["tried"][0]["expression"] == "x" * 10_000
