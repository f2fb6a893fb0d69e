"""Who sees which values of a reason."""

from domain.config.why import why_shown

CLAUSE = {"name": "rules[0]", "matched": True, "expression": "if: $A"}


def reason(**clause: object) -> dict[str, object]:
    return {"included": True, "clause": "rules[0]", "text": "so", "tried": [{**CLAUSE, **clause}]}


def test_readers_see_what_is_for_everybody() -> None:
    stored = reason(values={"A": "a", "B": "b", "CI_C": "c", "D": None}, private=["B", "D"])
    assert why_shown(stored, may_run=False) == reason(values={"A": "a", "B": "[hidden]", "CI_C": "c", "D": "[hidden]"})
    assert why_shown(stored, may_run=True) == reason(values={"A": "a", "B": "b", "CI_C": "c", "D": None})


def test_of_what_was_stored_before_readers_see_only_what_the_server_defines() -> None:
    stored = reason(values={"A": "a", "CI_C": "c", "GITLAB_D": "d"})
    shown = why_shown(stored, may_run=False)
    assert shown == reason(values={"A": "[hidden]", "CI_C": "c", "GITLAB_D": "d"})
    assert why_shown(stored, may_run=True) == stored


def test_what_has_no_values_stays_as_it_is() -> None:
    for stored in ({}, {"included": True, "clause": "default", "text": "x", "tried": []}, reason()):
        assert why_shown(stored, may_run=False) == stored
