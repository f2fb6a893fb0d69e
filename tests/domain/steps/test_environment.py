"""Which of several variables of one name a step finds."""

from hypothesis import given
from hypothesis import strategies as st

from domain.steps.environment import Environment, Exports
from domain.steps.rendering import Known

SCOPES = st.dictionaries(st.sampled_from("ABC"), st.text(max_size=2).map(Known), max_size=3)
EXPORTED = st.dictionaries(st.sampled_from("ABC"), st.text(max_size=2), max_size=3)


@given(SCOPES, EXPORTED, st.lists(SCOPES, max_size=4))
def test_the_innermost_wins_and_exports_come_behind_what_is_written(
    job: dict[str, Known], exported: dict[str, str], scopes: list[dict[str, Known]]
) -> None:
    exports = Exports()
    found = Environment(exports, job)
    for scope in scopes:
        found = found.within(scope)
    exports.take(exported)
    expected = dict(job) | {name: Known(text) for name, text in exported.items()}
    for scope in scopes:
        expected |= scope
    assert found.variables() == expected


def test_what_a_step_within_exports_later_ones_have_everywhere() -> None:
    """An export that takes the place of a variable of the job is seen by later steps within, too."""
    exports = Exports()
    outer = Environment(exports, {"A": Known("job")})
    inner = outer.within({"B": Known("sequence")})
    exports.take({"A": "exported", "B": "exported"})
    assert inner.variables() == {"A": Known("exported"), "B": Known("sequence")}
    assert outer.variables() == {"A": Known("exported"), "B": Known("exported")}
    exports.take({"A": "again"})
    assert inner.variables()["A"] == Known("again")
