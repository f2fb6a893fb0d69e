"""What a token may make, and until when: refused in words, or never later than the token itself."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import FieldsInvalid, Forbidden
from domain.token_chains import MAX_ABOVE, Maker

DAYS = st.dates(date(2026, 1, 1), date(2030, 1, 1))


@pytest.mark.parametrize(
    ("maker", "words"),
    [
        (Maker(1, is_of_robot=True), "robot"),
        (Maker(1, is_impersonation=True), "impersonation"),
        (Maker(1, above=MAX_ABOVE), f"chain of {MAX_ABOVE}"),
    ],
)
def test_what_makes_none_is_told_why(maker: Maker, words: str) -> None:
    with pytest.raises(Forbidden, match=words):
        maker.require_may_make()


@pytest.mark.parametrize("maker", [Maker(), Maker(1), Maker(1, above=MAX_ABOVE - 1), Maker(above=MAX_ABOVE)])
def test_who_showed_a_password_and_persons_tokens_make_some(maker: Maker) -> None:
    maker.require_may_make()


@given(st.none() | DAYS, st.none() | DAYS)
def test_nothing_ends_after_its_maker(ends_on: date | None, wanted: date | None) -> None:
    maker = Maker(1, ends_on)
    at = None if wanted is None else datetime(wanted.year, wanted.month, wanted.day, tzinfo=UTC)
    if ends_on is not None and wanted is not None and wanted > ends_on:
        with pytest.raises(FieldsInvalid, match=ends_on.isoformat()):
            maker.last_day(wanted)
        with pytest.raises(FieldsInvalid, match=ends_on.isoformat()):
            maker.last_moment(at)
        return
    expected = min((day for day in (ends_on, wanted) if day is not None), default=None)
    assert maker.last_day(wanted) == expected
    moment = maker.last_moment(at)
    assert (moment and moment.date()) == expected
