"""`inputs` of a job, put into its scripts and artifacts before anything runs.

Source: docs/reference/runner-protocol.md, "Job document".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from domain.errors import Invalid
from domain.moa.expression import render
from domain.moa.values import text_of
from fleet.job import ArtifactRequest, Job


def with_inputs(job: Job) -> Job:
    """The job with `${{ job.inputs.x }}` put in; one without inputs stays as it is, whatever its texts hold.

    Raises `Invalid` that names the text.
    """
    if not job.inputs:
        return job
    context = {"job": {"inputs": job.inputs}}
    return replace(
        job,
        steps=tuple(replace(step, script=_filled(step.script, context)) for step in job.steps),
        artifacts=tuple(_filled_request(request, context) for request in job.artifacts),
    )


def _filled_request(request: ArtifactRequest, context: Mapping[str, Any]) -> ArtifactRequest:
    name, when, expire_in = _filled((request.name, request.when, request.expire_in), context)
    paths, exclude = _filled(request.paths, context), _filled(request.exclude, context)
    return replace(request, name=name, when=when, expire_in=expire_in, paths=paths, exclude=exclude)


def _filled(texts: tuple[str, ...], context: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_text(text, context) for text in texts)


def _text(text: str, context: Mapping[str, Any]) -> str:
    try:
        return text_of(render(text, context))
    except Invalid as error:
        raise Invalid(f"the job's inputs cannot be put into {text!r}: {error}") from error
