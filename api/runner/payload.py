"""The body of a 201: a job as a runner wants it (reference: runner protocol, section 9).

Runners decode it strictly: one field of a wrong type loses the whole job.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from domain.variables import JobFacts, JobVariable, expand, predefined
from models.columns import Record
from models.repositories.hand_outs import HandOut
from settings import Settings

_FAILURE_REASONS: Final = [
    "unknown_failure",
    "script_failure",
    "runner_system_failure",
    "job_execution_timeout",
    "image_pull_failure",
    "runner_configuration_error",
    "runner_external_dependency_failure",
    "runner_interrupted",
    "job_canceled",
]
_MASKED_PREFIXES: Final = ["glpat-", "glrt-", "glrtr-", "glcbt-"]
_AFTER_SCRIPT_TIMEOUT: Final = 300
_GIT_DEPTH: Final = 20
_GZIPPED: Final = "gzip"


def build(hand_out: HandOut, runner: Record, token: str, settings: Settings) -> dict[str, Any]:
    """The whole payload of one hand-out."""
    job, plan = hand_out.job, hand_out.job.plan
    timeout = min(job.timeout, runner.maximum_timeout or job.timeout)
    return {
        "id": job.id,
        "token": token,
        "allow_git_fetch": True,
        "job_info": _job_info(hand_out),
        "git_info": _git_info(hand_out, token, settings),
        "runner_info": {"timeout": timeout},
        "inputs": [],
        "variables": [_variable(item) for item in job_variables(hand_out, runner, token, settings)],
        "steps": _steps(plan, timeout),
        "image": _image(plan.get("image")),
        "services": [],
        "artifacts": _artifacts(plan.get("artifacts")),
        "cache": [],
        "credentials": [],
        "dependencies": [_dependency(row, token) for row in hand_out.dependencies],
        "features": {
            "trace_sections": True,
            "token_mask_prefixes": _MASKED_PREFIXES,
            "failure_reasons": _FAILURE_REASONS,
        },
    }


def job_variables(hand_out: HandOut, runner: Record, token: str, settings: Settings) -> tuple[JobVariable, ...]:
    """Every variable of a job, the later ones over the earlier (reference: CI YAML, section 10), expanded once."""
    plan, pipeline = hand_out.job.plan, hand_out.pipeline
    yaml = [JobVariable(key, item["value"], raw=item["raw"]) for key, item in plan.get("variables", {}).items()]
    asked = [
        JobVariable(item["key"], item["value"], public=False) for item in [*pipeline.variables, *hand_out.job.variables]
    ]
    return expand((*predefined(_facts(hand_out, runner, token, settings)), *yaml, *asked))


def _facts(hand_out: HandOut, runner: Record, token: str, settings: Settings) -> JobFacts:
    job, pipeline, project, user = hand_out.job, hand_out.pipeline, hand_out.project, hand_out.user
    commit, home = pipeline.commit, f"{settings.url}/{project.full_path}"
    return JobFacts(
        server_url=settings.url,
        project_id=project.id,
        project_name=project.name,
        project_path=project.full_path,
        project_url=home,
        default_branch=project.default_branch,
        pipeline_id=pipeline.id,
        pipeline_iid=pipeline.iid,
        pipeline_source=pipeline.source,
        pipeline_url=f"{home}/-/pipelines/{pipeline.id}",
        pipeline_created_at=pipeline.created_at,
        ref=pipeline.ref,
        is_tag=pipeline.tag,
        ref_protected=pipeline.ref == project.default_branch,
        sha=pipeline.sha,
        before_sha=pipeline.before_sha,
        commit_message=commit.get("message", ""),
        commit_author=f"{commit.get('author_name', '')} <{commit.get('author_email', '')}>",
        commit_timestamp=datetime.fromisoformat(commit["timestamp"]) if commit else pipeline.created_at,
        job_id=job.id,
        job_name=job.name,
        job_stage=job.stage_name,
        job_url=f"{home}/-/jobs/{job.id}",
        job_token=token,
        repository_url=repository_url(settings.url, project.full_path, token),
        runner_id=runner.id,
        runner_description=runner.description,
        runner_tags=tuple(runner.tags),
        user_id=user.id,
        user_login=user.username,
        user_name=user.name,
        user_email=user.email,
        is_manual=job.when in {"manual", "delayed"},
        node_index=job.plan.get("node_index"),
        node_total=job.plan.get("node_total"),
    )


def repository_url(url: str, path: str, token: str) -> str:
    """Where a job fetches from, with its token as the password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"gitlab-ci-token:{token}@{parts.netloc}", path=f"{parts.path}/{path}.git"))


def _job_info(hand_out: HandOut) -> dict[str, Any]:
    job, project = hand_out.job, hand_out.project
    waited = (job.started_at - job.queued_at).total_seconds() if job.queued_at and job.started_at else 0
    return {
        "id": job.id,
        "name": job.name,
        "stage": job.stage_name,
        "pipeline_id": job.pipeline_id,
        "project_id": project.id,
        "project_name": project.path,
        "project_full_path": project.full_path,
        "namespace_id": project.organisation_id,
        "root_namespace_id": project.organisation_id,
        "organization_id": project.organisation_id,
        "user_id": job.user_id,
        "time_in_queue_seconds": max(0, round(waited)),
        "project_jobs_running_on_instance_runners_count": "0",
    }


def _git_info(hand_out: HandOut, token: str, settings: Settings) -> dict[str, Any]:
    """The commit is fetched by its id: a branch that moved on, or is gone, does not matter."""
    pipeline = hand_out.pipeline
    kind, target = ("tags", "tags") if pipeline.tag else ("heads", "remotes/origin")
    return {
        "repo_url": repository_url(settings.url, hand_out.project.full_path, token),
        "repo_object_format": "sha1",
        "ref": pipeline.ref,
        "sha": pipeline.sha,
        "before_sha": pipeline.before_sha,
        "ref_type": "tag" if pipeline.tag else "branch",
        "refspecs": [
            f"+{pipeline.sha}:refs/pipelines/{pipeline.id}",
            f"+refs/{kind}/{pipeline.ref}:refs/{target}/{pipeline.ref}",
        ],
        "depth": _depth(hand_out),
        "protected": pipeline.ref == hand_out.project.default_branch,
    }


def _depth(hand_out: HandOut) -> int:
    asked = hand_out.job.plan.get("variables", {}).get("GIT_DEPTH", {}).get("value", "")
    return int(asked) if asked.isdigit() else _GIT_DEPTH


def _variable(item: JobVariable) -> dict[str, Any]:
    return {
        "key": item.key,
        "value": item.value,
        "public": item.public,
        "masked": item.masked,
        "file": item.file,
        "raw": item.raw,
    }


def _steps(plan: Mapping[str, Any], timeout: int) -> list[dict[str, Any]]:
    steps = [
        {
            "name": "script",
            "script": [*plan.get("before_script", ()), *plan["script"]],
            "timeout": timeout,
            "when": "on_success",
            "allow_failure": False,
        }
    ]
    if plan.get("after_script"):
        steps.append(
            {
                "name": "after_script",
                "script": list(plan["after_script"]),
                "timeout": _AFTER_SCRIPT_TIMEOUT,
                "when": "always",
                "allow_failure": True,
            }
        )
    return steps


def _image(image: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not image:
        return None
    options = {name: dict(image[name]) for name in ("docker", "kubernetes") if image.get(name)}
    return {
        "name": image["name"],
        "alias": "",
        "entrypoint": list(image.get("entrypoint", ())),
        "command": [],
        "ports": [],
        "pull_policy": list(image.get("pull_policy", ())),
        "executor_opts": options,
    }


def _artifacts(artifacts: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if not artifacts:
        return []
    entries = []
    if artifacts.get("paths") or artifacts.get("untracked"):
        entries.append(
            {
                "name": artifacts.get("name", ""),
                "untracked": artifacts.get("untracked", False),
                "paths": list(artifacts.get("paths", ())),
                "exclude": list(artifacts.get("exclude", ())),
                "when": artifacts.get("when", "on_success"),
                "artifact_type": "archive",
                "artifact_format": "zip",
                "expire_in": artifacts.get("expire_in", ""),
            }
        )
    entries += _reports(artifacts.get("reports", {}), artifacts.get("expire_in", ""))
    return entries


def _reports(reports: Mapping[str, Iterable[str]], expire_in: str) -> list[dict[str, Any]]:
    """Reports are always uploaded, whatever became of the job."""
    return [
        {
            "name": f"{kind}.xml" if kind == "junit" else kind,
            "untracked": False,
            "paths": list(paths),
            "exclude": [],
            "when": "always",
            "artifact_type": kind,
            "artifact_format": _GZIPPED,
            "expire_in": expire_in,
        }
        for kind, paths in reports.items()
    ]


def _dependency(row: Record, token: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "token": token,
        "name": row.name,
        "artifacts_file": {"filename": row.filename, "size": row.size},
    }
