"""What is signed of a job that calls another pod."""

import orjson
from pydantic import TypeAdapter

from domain.pipelines.bridges import Ancestor
from domain.pods.job_calls import CallingJob

JOB = CallingJob(
    id=7,
    project_id=8,
    full_path="acme/a\nb",
    group_ids=(1, 2),
    username="ada",
    home_id=3,
    pipeline_id=9,
    ancestors=(Ancestor(8, "main\n", "push"),),
    hierarchy=2,
)


def test_it_is_one_line_and_read_as_it_was_written() -> None:
    """A call is signed with the job before the body and an end of line between them: neither stands for the other."""
    document = orjson.dumps(JOB)
    assert b"\n" not in document
    assert TypeAdapter(CallingJob).validate_json(document) == JOB
