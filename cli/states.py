"""States of documents (`cli.remote.documents`) in words and signs, never in colour alone."""

from collections.abc import Mapping
from typing import Any

from domain.pipelines.shown_status import SHOWN, WARNING, Shown, shown_as


def of_job(job: Mapping[str, Any]) -> Shown:
    """How a job is shown."""
    return shown_as(job["status"], allow_failure=job["allow_failure"])


def of_pipeline(pipeline: Mapping[str, Any]) -> Shown:
    """How a pipeline is shown: with warnings if the server says so (`label`), which an older one does not."""
    is_warned = pipeline.get("label") == SHOWN[WARNING].label
    return shown_as(WARNING if is_warned else pipeline["status"])
