"""The tables of what runners use."""

from fleet.delivery import DeliveryTimes
from settings import TimeLimits
from tests.foreign.compatibility import PAGE, page, recordings, tables, unknown


def test_the_page_has_the_tables_of_the_recordings() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run `python -m tests.foreign.compatibility`"


def test_every_runner_of_the_tests_has_a_column() -> None:
    assert recordings().keys() == {"gitlab-python-runner", "gitlab-runner-rs", "perdure runner"}


def test_nothing_that_was_used_lacks_a_row() -> None:
    assert [unknown(facts) for facts in recordings().values()] == [set(), set(), set()]
    assert "| `PUT /jobs/:id 200` | acceptance, sign of life, verdict | yes | yes | yes |" in tables()


def test_the_page_says_how_late_a_job_hears_of_a_cancel() -> None:
    words = " ".join(PAGE.read_text().split())
    limits = TimeLimits()
    assert f"every {limits.trace_interval} s while somebody reads the log" in words
    assert f"and every {limits.trace_interval_unwatched} s otherwise" in words
    assert f"GitLab Runner sends one every 30 s, `perdure runner` every {DeliveryTimes().heartbeat:g} s" in words
