"""The predefined variables as a table; `tests/api/v4/pipelines/test_predefined_variables.py` shows that it is true."""

from domain.variables.job_variables import RUNNER_PROVIDED
from tests.docs.predefined_variables import PAGE, TABLE, Known, page


def test_the_page_has_the_table_of_now() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run `python -m tests.docs.predefined_variables`"


def test_every_variable_has_one_row() -> None:
    assert len({row.name for row in TABLE}) == len(TABLE)


def test_what_is_left_for_the_runner_is_in_the_table() -> None:
    assert {row.name for row in TABLE if row.known is Known.RUNNER} == RUNNER_PROVIDED
