"""The tables of what runners use."""

from tests.foreign.compatibility import PAGE, page, recordings, tables, unknown


def test_the_page_has_the_tables_of_the_recordings():
    assert PAGE.read_text() == page(PAGE.read_text()), "run `python -m tests.foreign.compatibility`"


def test_every_runner_of_the_tests_has_a_column():
    assert recordings().keys() == {"gitlab-python-runner", "gitlab-runner-rs", "perdure runner"}


def test_nothing_that_was_used_lacks_a_row():
    assert [unknown(facts) for facts in recordings().values()] == [set(), set(), set()]
    assert "| `PUT /jobs/:id 200` | acceptance, sign of life, verdict | yes | yes | yes |" in tables()
