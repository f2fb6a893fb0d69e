"""How a runner stands."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.runners.status import ONLINE_FOR, SILENT_AFTER, STALE_AFTER, Connection, Holds, connection_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
A_MOMENT = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("silent", "age", "expected"),
    [
        (ONLINE_FOR, STALE_AFTER, Connection.ONLINE),
        (ONLINE_FOR + A_MOMENT, STALE_AFTER, Connection.OFFLINE),
        (STALE_AFTER, 2 * STALE_AFTER, Connection.OFFLINE),
        (STALE_AFTER + A_MOMENT, 2 * STALE_AFTER, Connection.STALE),
        (None, STALE_AFTER, Connection.NEVER_CONTACTED),
        (None, STALE_AFTER + A_MOMENT, Connection.STALE),
    ],
)
def test_silence_makes_the_status(silent: timedelta | None, age: timedelta, expected: Connection) -> None:
    contacted_at = None if silent is None else NOW - silent
    assert connection_of(contacted_at, NOW - age, NOW, Holds.NOTHING) is expected
    assert connection_of(contacted_at, NOW - age, NOW, Holds.HEARD) is Connection.ONLINE


@pytest.mark.parametrize(
    ("silent", "expected"),
    [
        (SILENT_AFTER, Connection.ONLINE),
        (SILENT_AFTER + A_MOMENT, Connection.OFFLINE),
        (ONLINE_FOR + A_MOMENT, Connection.OFFLINE),
        (STALE_AFTER + A_MOMENT, Connection.STALE),
    ],
)
def test_who_is_silent_about_all_its_jobs_is_online_only_if_it_asks_for_more(
    silent: timedelta, expected: Connection
) -> None:
    assert connection_of(NOW - silent, NOW - 2 * STALE_AFTER, NOW, Holds.SILENT) is expected
