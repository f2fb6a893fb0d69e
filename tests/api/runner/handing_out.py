"""Hand-outs made by hand: rows as the database gives them, from a plan of the compiler."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import orjson

from api.runner.payloads.document import build
from domain.config.plan import JobPlan
from models.repositories.pipelines.compiled import plan_document
from models.repositories.queue.hand_outs import HandOut
from models.rows.accounts import UserRow
from models.rows.pipelines import JobRow, PipelineRow
from models.rows.projects import ProjectRow
from settings import Settings
from tests.made_rows import made

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SHA = "0123456789abcdef0123456789abcdef01234567"
INSTALLATION = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
RUNNER = SimpleNamespace(id=9, description="box", tags=["docker"], maximum_timeout=None)


def job_plan(**fields: Any) -> JobPlan:
    """A job with one command, and these fields."""
    return JobPlan(**{"name": "build", "stage": "test", "script": ("make",), **fields})


def stored(plan: JobPlan) -> dict[str, Any]:
    """The plan as it comes back from the database."""
    document: dict[str, Any] = orjson.loads(orjson.dumps(plan_document(plan)))
    return document


def handed_out(
    plan: JobPlan, ref: str = "main", variables: dict[str, str] | None = None, dependencies: tuple[Any, ...] = ()
) -> HandOut:
    """The rows behind a job of project `acme/shop`, whose default branch is `main`."""
    job = made(
        JobRow,
        id=700,
        name=plan.name,
        stage_name=plan.stage,
        pipeline_id=70,
        user_id=5,
        when=plan.when,
        timeout=plan.timeout or 3600,
        plan=stored(plan),
        variables=[],
        queued_at=NOW,
        started_at=NOW,
    )
    pipeline = made(
        PipelineRow,
        id=70,
        iid=3,
        name="Nightly",
        source="push",
        ref=ref,
        tag=False,
        ref_protected=ref == "main",
        sha=SHA,
        before_sha="0" * 40,
        commit={},
        origin={},
        created_at=NOW,
        variables=[{"key": key, "value": value} for key, value in (variables or {}).items()],
        bridge_id=None,
        upstream_id=None,
        config_source="repository_source",
        schedule_description="",
        upstream_project_id=None,
        merge_request={},
        open_merge_requests=[],
    )
    project = made(
        ProjectRow,
        id=7,
        name="Shop",
        path="shop",
        full_path="acme/shop",
        description="What we sell",
        visibility="internal",
        languages=["python", "shell"],
        default_branch="main",
        organisation_id=2,
        namespace_id=4,
        config_path="",
        git_depth=20,
        git_fetch=True,
    )
    user = made(UserRow, id=5, username="ann", name="Ann", email="ann@example.com")
    return HandOut(job, pipeline, project, user, dependencies, "pending", INSTALLATION, 2, 6)


def payload_of(hand_out: HandOut) -> dict[str, Any]:
    """The payload as the runner reads it: JSON, back and forth."""
    settings = Settings(external_url="http://ci.example:8929")
    document: dict[str, Any] = orjson.loads(orjson.dumps(build(hand_out, RUNNER, "glcbt-secret", settings)))
    return document


def built(**fields: Any) -> dict[str, Any]:
    """The payload of a job with these fields."""
    return payload_of(handed_out(job_plan(**fields)))


def values_of(payload: dict[str, Any]) -> dict[str, str]:
    """The variables of a payload by name."""
    return {item["key"]: item["value"] for item in payload["variables"]}
