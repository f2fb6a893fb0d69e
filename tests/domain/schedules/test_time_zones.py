"""What somebody may have meant by a time zone that there is not."""

from zoneinfo import available_timezones

import pytest

from domain.schedules.time_zones import nearest_name


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin/Europe", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("Amerika/New_York", "America/New_York"),
        ("CEST", ""),
        ("GMT+2", ""),
        ("Mars/Olympus", ""),
        ("", ""),
        ("x" * 1_000, ""),
        ("../../etc/passwd", ""),
    ],
)
def test_the_nearest_name_is_found_by_its_letters_or_its_city(given: str, meant: str) -> None:
    assert nearest_name(given, available_timezones()) == meant
