"""`inputs` of a job are put into what its runner does."""

from typing import Any

import pytest

from domain.errors import Invalid
from fleet.job import Job, read_job
from fleet.job_inputs import with_inputs
from tests.fleet.jobs import archive, payload


def job_with(inputs: dict[str, Any] | list[Any], script: list[str], **changes: Any) -> Job:
    """A job as it arrives; `inputs` by name, or as they are written in the payload."""
    entries = [
        {"key": key, "value": {"type": "string", "content": content, "sensitive": False}}
        for key, content in (inputs.items() if isinstance(inputs, dict) else ())
    ]
    return read_job(payload(script, inputs=entries or inputs, **changes))


def test_scripts_and_artifacts_are_filled() -> None:
    job = with_inputs(
        job_with(
            {"target": "staging", "count": 3, "tags": ["a", "b"]},
            ["deploy ${{ job.inputs.target }} $HOME", "${{ job.inputs.tags }}"],
            after_script=["echo ${{ job.inputs.count + 1 }}"],
            artifacts=[
                archive(
                    "${{ job.inputs.target }}/*",
                    name="out-${{ job.inputs.target }}",
                    exclude=["${{ job.inputs.tags[0] }}"],
                    when="${{ job.inputs.count > 2 && 'always' || 'on_success' }}",
                    expire_in="${{ job.inputs.count }} days",
                )
            ],
        )
    )
    assert [step.script for step in job.steps] == [("deploy staging $HOME", '["a","b"]'), ("echo 4",)]
    (request,) = job.artifacts
    assert (request.name, request.paths, request.exclude) == ("out-staging", ("staging/*",), ("a",))
    assert (request.when, request.expire_in) == ("always", "3 days")


def test_a_job_without_inputs_keeps_its_texts() -> None:
    job = job_with({}, ["echo '${{ job.inputs.x }} ${{'"])
    assert with_inputs(job) is job


def test_a_sensitive_input_is_in_no_text() -> None:
    inputs = [{"key": "secret", "value": {"type": "string", "content": "s3cret", "sensitive": True}}]
    job = job_with([*inputs, {"key": "other", "value": {"content": 1}}], ["echo ${{ job.inputs.secret }}"])
    with pytest.raises(Invalid) as error:
        with_inputs(job)
    said = "the job's inputs cannot be put into 'echo ${{ job.inputs.secret }}': there is no `secret`; there are: other"
    assert str(error.value) == said
