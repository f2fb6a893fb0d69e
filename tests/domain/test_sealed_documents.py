"""Values of variables in stored documents: sealed and opened again, whatever the document is like."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from domain.config.why import HIDDEN, NOT_FOR_READERS, why_shown
from domain.sealed_documents import SEALED, open_row, seal_row

NAMES = st.sampled_from(["DEPLOY", "CI_COMMIT_REF_NAME", "GITLAB_CI", "sealed", "value", "TOKEN"])
VALUES = st.one_of(st.none(), st.just(HIDDEN), st.just(""), st.text(min_size=1, max_size=8).map("v:{}".format))
VARIABLES = st.lists(
    st.builds(
        lambda key, value, rest: {"key": key, "value": value, **rest},
        NAMES,
        st.text(max_size=8),
        st.sampled_from([{}, {"raw": True}, {"variable_type": "file"}]),
    ),
    max_size=4,
)


@st.composite
def clauses(draw: st.DrawFn) -> dict[str, Any]:
    values = draw(st.dictionaries(NAMES, VALUES, max_size=4))
    clause: dict[str, Any] = {"name": "rules[0]", "matched": True}
    if values:
        clause["values"] = values
        if draw(st.booleans()):  # documents of before do not name them
            clause["private"] = draw(st.lists(st.sampled_from(sorted(values)), unique=True))
    return clause


REASONS = st.builds(lambda tried: {"text": "x", "tried": tried} if tried else {"text": "x"}, st.lists(clauses()))
ROWS = st.one_of(
    st.tuples(st.just("play_variables"), st.fixed_dictionaries({"variables": VARIABLES})),
    st.tuples(st.just("job"), st.fixed_dictionaries({"variables": VARIABLES, "why": REASONS, "plan": st.just({})})),
    st.tuples(
        st.just("pipeline"),
        st.fixed_dictionaries(
            {
                "variables": VARIABLES,
                "reasons": st.fixed_dictionaries(
                    {"why": REASONS, "absent": st.lists(REASONS.map(lambda why: {"name": "a", "why": why}), max_size=2)}
                ),
            }
        ),
    ),
)


def seal(text: str) -> str:
    return f"sealed {len(text)} {text[::-1]}"


def open_(text: str) -> str:
    return text.split(" ", 2)[2][::-1]


@given(ROWS)
def test_what_is_sealed_is_opened_again_and_sealed_once(named: tuple[str, dict[str, Any]]) -> None:
    table, row = named
    sealed = seal_row(table, row, seal)
    assert open_row(table, sealed, open_) == row
    assert seal_row(table, sealed, seal) == sealed


@given(ROWS)
def test_who_may_only_read_sees_the_same_of_what_is_sealed(named: tuple[str, dict[str, Any]]) -> None:
    table, row = named
    if "why" in row:
        sealed = seal_row(table, row, seal)
        assert why_shown(sealed["why"], may_run=False) == why_shown(row["why"], may_run=False)


def test_only_what_is_not_for_everybody_is_sealed() -> None:
    values = {"DEPLOY": "prod", "CI": "true", "COLOUR": "red", "SECRET": HIDDEN, "NONE": None}
    row: dict[str, Any] = {"variables": [{"key": "DEPLOY", "value": "prod"}], "plan": {}}
    row["why"] = {"tried": [{"values": values, "private": ["DEPLOY", "SECRET", "NONE"]}]}
    (clause,) = seal_row("job", row, seal)["why"]["tried"]
    assert clause["values"] == {**values, "DEPLOY": SEALED}
    assert clause["sealed"] == {"DEPLOY": seal("prod")}
    (shown,) = why_shown({"tried": [clause]}, may_run=False)["tried"]
    assert shown == {"values": {**values, "DEPLOY": NOT_FOR_READERS, "NONE": NOT_FOR_READERS}}


def test_what_the_address_of_the_environment_shows_stays_in_clear() -> None:
    items = [{"key": "SLUG", "value": "blue"}, {"key": "TOKEN", "value": "swordfish"}]
    row: dict[str, Any] = {
        "variables": items,
        "why": {},
        "plan": {"environment": {"url": "https://${SLUG}.example.com"}},
    }
    assert seal_row("job", row, seal)["variables"] == [items[0], {"key": "TOKEN", "sealed": seal("swordfish")}]
