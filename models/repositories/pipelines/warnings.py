"""Pipelines and stages that have passed although something failed that was allowed to.

GitLab: `failed_but_allowed`, which a pipeline or stage that is a success is looked at for.
"""

from typing import Any, Final

from sqlalchemy import ColumnElement, case, false, select

from domain.pipelines.status import ALLOWED_TO_FAIL, Status
from models.columns import table_of
from models.tables.pipelines import Job, Pipeline, Stage

job = table_of(Job)
pipeline = table_of(Pipeline)
stage = table_of(Stage)

_BAD: Final = select(job.c.id).where(~job.c.retried, job.c.allow_failure, job.c.status.in_(sorted(ALLOWED_TO_FAIL)))


def _warned(status: ColumnElement[str], bad: ColumnElement[bool]) -> ColumnElement[Any]:
    """Jobs are looked at only where it counts: what runs has none of these columns to pay for."""
    return case((status == Status.SUCCESS, bad), else_=false()).label("warned")


PIPELINE_WARNED: Final = _warned(
    pipeline.c.status, _BAD.where(job.c.pipeline_id == pipeline.c.id).correlate(pipeline).exists()
)
"""Whether a pipeline has warnings, for statements that read few of its columns."""
PIPELINE: Final = (*pipeline.c, PIPELINE_WARNED)
"""The columns of `PipelineRow`."""
STAGE: Final = (
    *stage.c,
    _warned(
        stage.c.status,
        _BAD.where(job.c.pipeline_id == stage.c.pipeline_id, job.c.stage_id == stage.c.id).correlate(stage).exists(),
    ),
)
"""The columns of `StageRow`."""
