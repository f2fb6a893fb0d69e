"""What may be asked to be run, and how one state of a run follows another."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.steps.runs import ENDED, MAX_SECONDS, NEXT, RunRequest, RunStatus, Variable, check_id, check_request

GOOD = RunRequest("r1", "/build", script="make", env={"A": "b"}, variables={"C": Variable("d")})


def test_what_is_right_is_taken() -> None:
    check_request(GOOD)
    check_request(replace(GOOD, script="", steps="{}\n---\nrun: []", timeout=MAX_SECONDS, grace=0))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "a/b"}, "the id of a run has 1 to 128"),
        ({"script": ""}, "either steps or a script"),
        ({"steps": "x"}, "either steps or a script"),
        ({"env": {"A-B": ""}}, "a name of the environment is none, 'A-B'"),
        ({"variables": {"": Variable("")}}, "a name of the variables is none, ''"),
        ({"env": {"A": "\0"}}, "A has the character NUL"),
        ({"variables": {"C": Variable("\0")}}, "C has the character NUL"),
        ({"work_dir": "/\0"}, "the folder of the job has the character NUL"),
        ({"work_dir": f"/{'é' * 2_048}"}, "has more than 4,095 bytes"),
        ({"timeout": -1}, "a time limit is from 0 to 2,592,000 seconds"),
        ({"grace": MAX_SECONDS + 1}, "a time limit is from 0 to 2,592,000 seconds"),
        ({"timeout": float("nan")}, "a time limit is from 0 to 2,592,000 seconds"),
    ],
)
def test_what_is_wrong_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_request(replace(GOOD, **change))
    assert said in str(refused.value)


@given(st.text(max_size=6))
def test_an_id_is_the_name_of_a_folder_and_nothing_else(run_id: str) -> None:
    try:
        check_id(run_id)
    except Invalid:
        return
    assert run_id.isascii()
    assert run_id[0].isalnum()
    assert not set(run_id) & set("/\\\0 \n")


def test_what_has_ended_stays_and_all_else_comes_to_an_end() -> None:
    assert NEXT.keys() == set(RunStatus)
    assert all(not NEXT[status] for status in ENDED)
    assert {status for status in RunStatus if not NEXT[status]} == ENDED
    assert NEXT[RunStatus.RUNNING] == ENDED
    assert RunStatus.SUCCESS not in NEXT[RunStatus.PENDING], "nothing is done that has not begun"
