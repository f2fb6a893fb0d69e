"""Cron expressions: what is read, what is refused, and on which days there are ticks."""

from datetime import date

import pytest

from domain.errors import Invalid
from domain.schedules.cron import NICKNAMES, parse, parse_stored


def days(text: str, year: int, month: int) -> list[int]:
    """The days of a month on which an expression ticks."""
    cron = parse(text)
    found = []
    for day in range(1, 32):
        try:
            when = date(year, month, day)
        except ValueError:
            break
        if cron.permits(when):
            found.append(day)
    return found


@pytest.mark.parametrize(
    ("field", "minutes"),
    [
        ("7", {7}),
        ("1,3,5", {1, 3, 5}),
        ("10-13", {10, 11, 12, 13}),
        ("*/20", {0, 20, 40}),
        ("50/4", {50, 54, 58}),
        ("0-10/5,30", {0, 5, 10, 30}),
        ("58-1", {58, 59, 0, 1}),
        ("56-4/4", {56, 0, 4}),
        ("*/40", {0, 40}),
    ],
)
def test_a_field_is_a_list_of_values_ranges_and_steps(field: str, minutes: set[int]) -> None:
    assert parse(f"{field} * * * *").minutes == minutes


def test_hour_24_is_midnight_and_hours_wrap() -> None:
    assert parse("0 24 * * *").hours == {0}
    assert parse("0 22-2 * * *").hours == {22, 23, 0, 1, 2}


def test_months_and_weekdays_have_names_in_any_case() -> None:
    assert parse("0 0 1 JAN,jul-Sep *").months == {1, 7, 8, 9}
    assert parse("0 0 * * MON-fri").weekdays == frozenset({1, 2, 3, 4, 5})
    assert parse("0 0 * * sat-tue").weekdays == frozenset({6, 0, 1, 2})


@pytest.mark.parametrize("field", ["0", "7", "sun", "SUN"])
def test_sunday_is_0_and_7(field: str) -> None:
    assert parse(f"0 0 * * {field}").weekdays == frozenset({0})


def test_a_week_until_7_ends_on_sunday() -> None:
    assert parse("0 0 * * 5-7").weekdays == frozenset({5, 6, 0})


@pytest.mark.parametrize("name", sorted(NICKNAMES))
def test_a_nickname_is_what_it_stands_for(name: str) -> None:
    assert parse(f" {name} ") == parse(NICKNAMES[name])


def test_either_kind_of_day_is_enough() -> None:
    assert days("0 0 13 * fri", 2026, 11) == [6, 13, 20, 27]
    assert days("0 0 1,15 * mon", 2026, 11) == [1, 2, 9, 15, 16, 23, 30]


def test_a_star_restricts_nothing() -> None:
    assert days("0 0 13 * *", 2026, 11) == [13]
    assert days("0 0 * * fri", 2026, 11) == [6, 13, 20, 27]


@pytest.mark.parametrize(
    ("text", "month", "expected"),
    [
        ("0 0 L * *", (2026, 2), [28]),
        ("0 0 last * *", (2028, 2), [29]),
        ("0 0 -2,1 * *", (2026, 4), [1, 29]),
        ("0 0 * * mon#1", (2026, 11), [2]),
        ("0 0 * * mon#5", (2026, 11), [30]),
        ("0 0 * * mon#5", (2026, 10), []),
        ("0 0 * * fri#-1", (2026, 10), [30]),
        ("0 0 * * fri#L,wed", (2026, 2), [4, 11, 18, 25, 27]),
    ],
)
def test_days_are_counted_from_either_end_of_the_month(text: str, month: tuple[int, int], expected: list[int]) -> None:
    assert days(text, *month) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 25 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "a * * * *",
        "1- * * * *",
        "-1 * * * *",
        "*-5 * * * *",
        ", * * * *",
        "1, 2 * * * *",
        "0 0 1 january *",
        "0 0 * * monday",
        "0 0 30 2 *",
        "0 0 * * mon%0",
        "0 0 * * mon#1,mon%2",
        "0 0 & * *",
        "* * * * mon#0",
        "* * * * mon#6",
        "* * * * #1",
        "* * * mon *",
        "@every 5m",
        "@reboot",
        "\u0661 * * * *",
        "0," * 300 + "0 * * * *",
    ],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="cron is invalid syntax"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("99 * * * *", "'99' is wrong in the minute, which takes 0 to 59."),
        ("0 25 * * *", "'25' is wrong in the hour, which takes 0 to 24."),
        ("0 0 0 * *", "'0' is wrong in the day of the month, which takes 1 to 31, -1 to -31 from its end, and L"),
        ("0 0 1 13 *", "'13' is wrong in the month, which takes 1 to 12 and jan to dec."),
        ("0 0 * * mon#9", "'mon#9' is wrong in the day of the week, which takes 0 to 7, sun to sat, mon#2"),
        ("*/0 * * * *", "'*/0' has a step of 0 in the minute"),
        ("1- 99 * * *", "'1-' is neither a value nor a range as 1-5 or */10 in the minute, which takes 0 to 59; '99'"),
        ("@reboot", "'@reboot' is none of @yearly, @annually, "),
        ("0 4 * *", "it has 4 fields instead of 5: minute, hour, day of the month, month, day of the week."),
    ],
)
def test_each_wrong_field_is_named_with_what_it_takes(text: str, told: str) -> None:
    with pytest.raises(Invalid) as raised:
        parse(text)
    assert str(raised.value).startswith(f"cron is invalid syntax: {told}")


def test_what_an_earlier_version_has_stored_is_still_read() -> None:
    assert parse_stored("0 0 1 january-March Monday,sun") == parse("0 0 1 jan-mar mon,sun")
    assert parse_stored("0 0 31 2,3 mon").months == {2, 3}


def test_an_expression_may_name_its_time_zone() -> None:
    assert parse("0 0 * * 1 Europe/Berlin").zone == "Europe/Berlin"
    assert parse("@daily America/New_York").zone == "America/New_York"
    with pytest.raises(Invalid, match="6 fields instead of 5"):
        parse("0 0 * * 1 europe/berlin")
