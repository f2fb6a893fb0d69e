"""What people may write, and what they are told otherwise."""

from typing import Any

import pytest

from domain.errors import Invalid
from domain.messages import Operation
from domain.pipelines.operation_input import MAX_VARIABLES, read_do, read_operation


@pytest.mark.parametrize("given", [(), (None,), ({},), ("",), ({"key": "", "job_id": None, "variables": {}},)])
def test_nothing_is_enough_for_a_whole_pipeline(given: tuple[Any, ...]) -> None:
    assert read_operation("cancel_pipeline", given) == Operation()


def test_every_field_is_read() -> None:
    given = {"key": "k", "job_id": 42, "variables": {"A": "b"}, "reason": "because"}
    assert read_operation("play_job", (given,)) == Operation("k", 42, {"A": "b"}, "because")


@pytest.mark.parametrize(
    ("written", "read"), [("shout", "shout"), (2, "2"), ("2", "2"), (0, "0"), ("", ""), (None, "")]
)
def test_a_step_is_a_name_or_a_number(written: Any, read: str) -> None:
    assert read_operation("retry_job", ({"job_id": 42, "from_step": written},)) == Operation(job_id=42, from_step=read)


def test_a_step_is_sent_only_where_one_is_named() -> None:
    """Workers of an earlier version refuse fields that they do not know."""
    assert Operation("k", 42).as_sent() == {"key": "k", "job_id": 42, "variables": {}, "reason": ""}
    operation = Operation("k", 42, from_step="shout")
    assert read_operation("retry_job", (operation.as_sent(),)) == operation


@pytest.mark.parametrize("name", ["cancel_job", "retry_job", "play_job", "unschedule_job", "resource_granted"])
@pytest.mark.parametrize("given", [(), (None,), ({"key": "k"},)])
def test_a_job_must_be_named(name: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(Invalid, match=rf'^{name} needs the id of a job. Write {{"job_id": 42}}.$'):
        read_operation(name, given)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("play_job", {"job_id": "42"}, "job_id is the id of a job, a whole number, not the text '42'. Write {\"job_id"),
        ("play_job", {"job_id": True}, "not the truth value 'True'"),
        ("play_job", {"job_id": 4.5}, "not the number '4.5'"),
        ("play_job", {"job_id": 0}, "not the number '0'"),
        ("play_job", {"job_id": [42]}, "not the list '[42]'"),
        ("play_job", {"job": 42}, "does not know job; it knows key, job_id, variables, reason"),
        ("play_job", 42, "takes an object, not the number '42'"),
        ("play_job", "42", "takes an object, not the text '42'"),
        ("play_job", {"job_id": 42, "key": 7}, "key is a text, not the number '7'"),
        ("play_job", {"job_id": 42, "key": "k" * 256}, "key has 256 characters; 255 are permitted"),
        ("play_job", {"job_id": 42, "reason": "r" * 1001}, "reason has 1001 characters"),
        ("play_job", {"job_id": 42, "variables": ["A"]}, 'Write {"variables": {"NAME": "value"}}'),
        ("play_job", {"job_id": 42, "variables": {"A": 1}}, "variable 'A' needs a name and a text"),
        ("play_job", {"job_id": 42, "variables": {"": "1"}}, "variable '' needs a name and a text"),
        ("play_job", {"job_id": 42, "variables": {"A": "x" * MAX_VARIABLES}}, "characters; 32768 are permitted"),
        ("retry_job", {"job_id": 42, "variables": {"A": "1"}}, "takes no variables; only play_job does"),
        ("retry_job", {"job_id": 42, "from_step": ["a"]}, 'not the list "[\'a\']". Write {"from_step": "..."}'),
        ("retry_job", {"job_id": 42, "from_step": True}, "from_step is a text, not the truth value 'True'"),
        ("retry_job", {"job_id": 42, "from_step": -1}, "from_step is a text, not the number '-1'"),
        ("retry_job", {"job_id": 42, "from_step": 1.5}, "from_step is a text, not the number '1.5'"),
        ("retry_job", {"job_id": 42, "from_step": "s" * 256}, "from_step has 256 characters; 255 are permitted"),
        ("retry_job", {"from_step": "shout"}, "needs the id of a job"),
        ("play_job", {"job_id": 42, "from_step": "a"}, "takes no from_step; only retry_job does"),
        ("retry_pipeline", {"from_step": "a"}, "takes no from_step; only retry_job does"),
        ("cancel_pipeline", {"job_id": 42}, "leave job_id out, or use cancel_job"),
        ("reconcile", {"job_id": 42}, "leave job_id out."),
    ],
)
def test_wrong_input_is_answered_with_what_to_write(name: str, given: Any, said: str) -> None:
    with pytest.raises(Invalid) as raised:
        read_operation(name, (given,))
    assert said in str(raised.value)
    assert len(str(raised.value)) < 400


def test_two_objects_are_one_too_many() -> None:
    with pytest.raises(Invalid, match="play_job takes one object, not 2"):
        read_operation("play_job", ({"job_id": 42}, {"job_id": 43}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("retry_pipeline", ("retry_pipeline", Operation())),
        ({"name": "retry_pipeline"}, ("retry_pipeline", Operation())),
        ({"name": "cancel_pipeline", "reason": "no"}, ("cancel_pipeline", Operation(reason="no"))),
        (
            {"name": "play_job", "job_id": 3, "key": "k", "variables": {"A": "b"}},
            ("play_job", Operation("k", 3, {"A": "b"})),
        ),
        (
            {"name": "retry_job", "job_id": 42, "from_step": "shout"},
            ("retry_job", Operation(job_id=42, from_step="shout")),
        ),
    ],
)
def test_a_command_that_comes_with_a_start_is_read(given: object, expected: tuple[str, Operation]) -> None:
    assert read_do(given) == expected


@pytest.mark.parametrize(
    "given", ["", "retry", {}, {"name": None}, {"name": []}, {"name": {}}, [], 7, True, {"name": "revive_bridge"}]
)
def test_no_other_command_comes_with_a_start(given: object) -> None:
    with pytest.raises(Invalid, match=r'Write "do": \{"name": "retry_pipeline"\}'):
        read_do(given)
