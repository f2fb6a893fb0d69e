"""Cron expressions in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.schedules.cron import parse
from domain.schedules.cron_words import in_words


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("* * * * *", "Every minute"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("0 * * * *", "Every hour"),
        ("30 * * * *", "Every hour at minute 30"),
        ("0 */2 * * *", "Every 2 hours"),
        ("5 */6 * * *", "Every 6 hours at minute 5"),
        ("5,10,15 1,2,3 * * *", "At minutes 5, 10 and 15 of the hours 1 to 3"),
        ("*/7 * * * *", "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("*/10 8-17 * * 1-5", "Every 10 minutes of the hours 8 to 17, Monday to Friday"),
        ("@daily", "Every day at 00:00"),
        ("30 2,14 * * *", "Every day at 02:30 and 14:30"),
        ("0 9 * * 1-5", "Monday to Friday at 09:00"),
        ("0 9 * * 0,6", "Saturday and Sunday at 09:00"),
        ("0 3 * 3-5,7 sun", "Every Sunday at 03:00, in March to May and July"),
        ("0 0 1,15 * *", "On days 1 and 15 of the month at 00:00"),
        ("0 0 1 1 *", "On day 1 of the month at 00:00, in January"),
        ("0 0 L * *", "On the last day of the month at 00:00"),
        ("0 0 -2 * *", "On the second to last day of the month at 00:00"),
        ("0 0 * * mon#2", "On the second Monday of the month at 00:00"),
        ("0 0 * * fri#-1", "On the last Friday of the month at 00:00"),
        ("0 18 */1 * 0", "Every Sunday at 18:00"),
        ("0 0 13 * fri&", "On day 13 of the month that is Friday at 00:00"),
        ("0 0 * * mon%2", "On the Monday of one week in 2 at 00:00"),
        ("0 0 13 * 5", "On day 13 of the month or Friday at 00:00"),
    ],
)
def test_an_expression_is_told_in_words(cron: str, words: str) -> None:
    assert in_words(parse(cron)) == words


_MINUTE = st.sampled_from(["*", "0", "7,9", "*/5", "3-40/9", "59"])
_HOUR = st.sampled_from(["*", "0", "4,5,6", "*/3", "22-2", "23"])
_DAY = st.sampled_from(["*", "1", "1,L", "-3", "2-31"])
_MONTH = st.sampled_from(["*", "2", "nov-feb", "*/2"])
_WEEK = st.sampled_from(["*", "0", "7,1", "mon#1,fri#-2", "1-5", "0-6"])


@given(st.tuples(_MINUTE, _HOUR, _DAY, _MONTH, _WEEK))
def test_every_expression_has_words_that_name_what_is_restricted(fields: tuple[str, str, str, str, str]) -> None:
    text = in_words(parse(" ".join(fields)))
    assert text[0].isupper()
    assert len(text) < 500
    assert "of the month" in text or fields[2] == "*"
    assert "in " in text or fields[3] == "*"
