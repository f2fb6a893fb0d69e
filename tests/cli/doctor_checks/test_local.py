"""What `perdure doctor` says of the installation of this machine."""

from datetime import timedelta
from pathlib import Path

import pytest

from cli.doctor_checks.check import State
from cli.doctor_checks.local import in_words, unwritable
from settings import Settings


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (timedelta(days=1), "1 day"),
        (timedelta(days=7), "7 days"),
        (timedelta(hours=36), "1 day 12 hours"),
        (timedelta(minutes=30), "30 minutes"),
        (timedelta(hours=1, seconds=1), "1 hour 1 second"),
        (timedelta(0), "0 seconds"),
    ],
)
def test_a_retention_is_told_as_it_is_and_not_in_whole_days(kept: timedelta, words: str) -> None:
    assert in_words(kept) == words


def test_a_home_that_cannot_be_written_is_a_row_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert unwritable(Settings(home=tmp_path / "new" / "home")) is None
    check = unwritable(Settings(home=tmp_path / "file" / "home"))
    assert check is not None
    assert (check.state, "nothing can be written into" in check.detail) == (State.FAIL, True)
    assert "Move the file away" in check.fix
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
