"""Every keyword of the vocabularies has one state."""

from dataclasses import fields

import pytest

from domain.config import keywords
from domain.config.keyword_states import CARRIED, REFUSED, RUNS, STATES, UNHOSTED
from domain.config.plan import JobPlan

VOCABULARIES = {
    "the top": keywords.TOP,
    "default": keywords.DEFAULT,
    "jobs": keywords.JOB,
    "bridges": keywords.BRIDGE,
}
KEYS = {
    "workflow": keywords.WORKFLOW,
    "needs": keywords.NEED,
    "artifacts": keywords.ARTIFACTS,
    "environment": keywords.ENVIRONMENT,
}


@pytest.mark.parametrize("place", VOCABULARIES)
def test_every_keyword_has_a_state(place: str) -> None:
    assert VOCABULARIES[place] - STATES.keys() == set()


def test_no_state_is_of_a_keyword_that_does_not_exist() -> None:
    known = set().union(*VOCABULARIES.values())
    parts = [keyword.split(":") for keyword in STATES]
    assert {part[0] for part in parts} <= known
    assert [part for part in parts if part[1:] and part[1] not in KEYS[part[0]]] == []


def test_there_are_four_states_and_a_refusal_names_its_keyword() -> None:
    for keyword, state in STATES.items():
        refused = f"refused: {keyword} is valid, but this version of Perdure cannot run it yet"
        assert state in {RUNS, CARRIED, UNHOSTED, refused}, keyword
        assert (state == refused) == (keyword in REFUSED), keyword


def test_what_is_carried_has_a_place_in_the_plan() -> None:
    places = {field.name for field in fields(JobPlan)}
    carried = {keyword for keyword, state in STATES.items() if state in {CARRIED, UNHOSTED} and ":" not in keyword}
    assert carried
    assert carried - places == set()
