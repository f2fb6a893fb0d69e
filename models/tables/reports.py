"""What the reports of jobs say, other than test reports: coverage, findings of scanners, variables and the like."""

from typing import Any

from sqlmodel import Field, SQLModel

from models.columns import document, reference


class Report(SQLModel, table=True):
    """One report of a job. `kind` is the artifact's type; `summary` holds counts by name, `entries` what was found.

    The shapes of both are those of `storage.reports`, by kind; `total` counts the entries. `error` says why a report
    could not be read: then it has none. It outlives its artifact.
    """

    job_id: int = reference("job.id", primary_key=True)
    kind: str = Field(primary_key=True)
    pipeline_id: int = reference("pipeline.id", index=True)
    total: int = 0
    summary: dict[str, Any] = document()
    entries: list[dict[str, Any]] = document(list)
    error: str = ""
