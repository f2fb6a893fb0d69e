"""Trigger jobs as GitLab's JSON."""

from typing import Any, Final

from api.v4.representation.pipelines import brief
from application.bridges.downstream_pipelines import Related

_OF_BUILDS: Final = frozenset(
    {"artifacts", "artifacts_expire_at", "artifacts_file", "runner", "tag_list", "log_incomplete", "stuck"}
    | {"stuck_reason", "unresponsive", "exit_code"}
)
"""What only a job has that a runner takes."""


def bridge(job: dict[str, Any], downstream: Related | None, url: str) -> dict[str, Any]:
    """A trigger job; `job` is its document as a job, `downstream` what the caller may see of its pipeline."""
    document = {key: value for key, value in job.items() if key not in _OF_BUILDS}
    shown = None if downstream is None else brief(downstream.row, downstream.full_path, url)
    return {**document, "downstream_pipeline": shown}
