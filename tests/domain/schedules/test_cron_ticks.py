"""Which ticks lie between two moments: no tick is lost, none is doubled, and clocks that change are followed."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.schedules.cron import parse, parse_stored
from domain.schedules.cron_calendars import Calendar, calendars
from domain.schedules.cron_ticks import coming, next_tick, ticks

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def between(cron: str, after: str, until: str, zone: ZoneInfo = BERLIN) -> list[str]:
    return [f"{moment:%d %H:%M}" for moment in ticks(parse(cron), zone, at(after), at(until))]


def test_the_beginning_is_left_out_and_the_end_is_not() -> None:
    assert between("*/15 * * * *", "2026-01-01 12:00", "2026-01-01 12:45") == ["01 12:15", "01 12:30", "01 12:45"]


def test_the_clock_on_the_wall_counts() -> None:
    assert between("0 4 * * *", "2026-01-01", "2026-01-03") == ["01 03:00", "02 03:00"]
    assert between("0 4 * * *", "2026-07-01", "2026-07-03") == ["01 02:00", "02 02:00"]


def test_a_time_that_the_clocks_skip_has_no_tick() -> None:
    assert between("30 2 * * *", "2026-03-28", "2026-03-31") == ["28 01:30", "30 00:30"]


def test_a_time_that_the_clocks_show_twice_has_two_ticks() -> None:
    assert between("30 2 * * *", "2026-10-24 12:00", "2026-10-26 12:00") == ["25 00:30", "25 01:30", "26 01:30"]


def test_every_hour_is_every_hour_when_the_clocks_change() -> None:
    for day in ("2026-03-29", "2026-10-25"):
        start = at(day)
        found = list(ticks(parse("@hourly"), BERLIN, start, start + timedelta(hours=24)))
        assert found == [start + timedelta(hours=hour) for hour in range(1, 25)]


def test_the_next_tick_may_be_years_away() -> None:
    assert next_tick(parse("0 0 29 2 *"), UTC, at("2096-03-01")) == at("2104-02-29")
    assert next_tick(parse("0 0 * 2 mon#5"), UTC, at("2026-01-01")) == at("2044-02-29")


def test_a_day_that_never_comes_has_no_tick() -> None:
    assert next_tick(parse_stored("0 0 30 2 *"), UTC, at("2026-01-01")) is None
    assert next_tick(parse("0 0 -30 2 *"), UTC, at("2026-01-01")) is None


FIELDS = st.tuples(
    st.sampled_from(["*", "0", "*/7", "5-50/15", "59,1"]),
    st.sampled_from(["*", "2", "*/5", "22-3"]),
    st.sampled_from(["*", "1", "*/9", "L", "-3,31", "*/1", "25-L", "-7--2&", "3-20,-1&"]),
    st.sampled_from(["*", "2", "3,10", "*/4"]),
    st.sampled_from(["*", "mon-fri", "0", "sun#2", "fri#-1,tue", "wed&", "fri#-1,tue#2"]),
)
MOMENTS = st.integers(0, 12 * 366 * 24 * 3600).map(lambda second: at("2020-01-01") + timedelta(seconds=second))
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Sydney"]).map(
    ZoneInfo
)


@given(FIELDS, MOMENTS, ZONES)
def test_ticks_are_the_minutes_whose_clock_fits(fields: tuple[str, ...], start: datetime, zone: ZoneInfo) -> None:
    """Minute by minute, as nobody would do it."""
    cron = parse(" ".join(fields))
    end = start + timedelta(days=2)
    minute = (start + timedelta(minutes=1)).replace(second=0, microsecond=0)
    expected = []
    while minute <= end:
        shown = minute.astimezone(zone)
        if shown.minute in cron.minutes and shown.hour in cron.hours and cron.permits(shown.date()):
            expected.append(minute)
        minute += timedelta(minutes=1)
    assert list(ticks(cron, zone, start, end)) == [tick for tick in expected if tick > start]


@given(FIELDS, MOMENTS)
def test_calendars_hold_the_same_days(fields: tuple[str, ...], day: datetime) -> None:
    cron = parse(" ".join(fields))
    found = calendars(cron)
    for offset in range(60):
        when = (day + timedelta(days=offset)).date()
        assert any(_holds(each, when) for each in found) == cron.permits(when)


def _holds(each: Calendar, day: date) -> bool:
    return (
        day.month in each.months
        and (each.days is None or day.day in each.days)
        and (each.weekdays is None or day.isoweekday() % 7 in each.weekdays)
        and (each.years is None or day.year in each.years)
    )


@pytest.mark.parametrize("cron", ["0 0 * * *", "0 0 13 * fri", "0 0 L * mon#2"])
def test_steps_through_time_meet_each_tick_once(cron: str) -> None:
    start, rule = at("2026-01-01"), parse(cron)
    whole = list(ticks(rule, BERLIN, start, start + timedelta(days=90)))
    steps = [start + timedelta(hours=13 * n) for n in range(170)]
    pieces = [tick for a, b in pairwise(steps) for tick in ticks(rule, BERLIN, a, b)]
    assert pieces[: len(whole)] == whole


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-27T12:00",
            ["2026-03-28T01:30", "2026-03-30T00:30", "2026-03-31T00:30", "2026-04-01T00:30", "2026-04-02T00:30"],
        ),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00",
            ["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-26T01:30", "2026-10-27T01:30", "2026-10-28T01:30"],
        ),
        (
            "0 9 * * 1-5",
            "America/New_York",
            "2026-03-06T15:00",
            ["2026-03-09T13:00", "2026-03-10T13:00", "2026-03-11T13:00", "2026-03-12T13:00", "2026-03-13T13:00"],
        ),
        (
            "0 0 29 2 *",
            "UTC",
            "2026-01-01T00:00",
            ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00", "2040-02-29T00:00", "2044-02-29T00:00"],
        ),
        ("0 0 -30 2 *", "UTC", "2026-01-01T00:00", []),
    ],
)
def test_the_next_five_ticks_are_those_of_a_table_made_by_hand(
    cron: str, zone: str, after: str, expected: list[str]
) -> None:
    found = coming(parse(cron), ZoneInfo(zone), datetime.fromisoformat(after).replace(tzinfo=UTC), 5)
    assert [f"{tick:%Y-%m-%dT%H:%M}" for tick in found] == expected


def test_weeks_that_are_left_out_are_no_ticks_but_are_in_calendars() -> None:
    rule = parse("0 0 * * mon%2+1,fri")
    mondays = [day for day in (date(2026, 1, 1) + timedelta(days=n) for n in range(365)) if day.weekday() == 0]
    assert [rule.permits(day) for day in mondays[:4]] in ([True, False] * 2, [False, True] * 2)
    assert all(any(_holds(each, day) for each in calendars(rule)) for day in mondays)
    assert calendars(rule) == calendars(parse("0 0 * * mon,fri"))
