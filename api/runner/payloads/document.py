"""The body of a 201: a job as a runner wants it (docs/reference/runner-protocol.md, "Job document").

Runners decode it strictly: one field of a wrong type loses the whole job.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from api.runner.payloads.artifacts import artifacts, dependency
from api.runner.payloads.cache import caches
from api.runner.payloads.images import image, services
from api.runner.payloads.secrets import secrets
from application.jobs.registry import registry_credentials
from application.jobs.variables import JobRunner, is_protected, job_variables, repository_url, variable_document
from domain.pipelines.failure_reasons import OF_GITLAB
from domain.pods.token_prefixes import JOB, PERSONAL, RUNNER, RUNNER_BY_REGISTRATION
from domain.projects.ref_names import full_ref
from domain.runners.features import MERGE_REQUEST_REFS
from domain.variables.job_variables import JobVariable
from models.repositories.queue.hand_outs import HandOut
from models.rows.pipelines import PipelineRow
from settings import Settings

_MASKED_PREFIXES: Final = [PERSONAL, RUNNER, RUNNER_BY_REGISTRATION, JOB]
_AFTER_SCRIPT_TIMEOUT: Final = 300
_EVERYTHING: Final = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
_DEPTH: Final = re.compile(r"[0-9]{1,9}")
_SHA1_DIGITS: Final = 40


def build(
    hand_out: HandOut, runner: JobRunner, token: str, settings: Settings, issued: tuple[JobVariable, ...] = ()
) -> dict[str, Any]:
    """The whole payload of one hand-out; `issued` are the variables of its `id_tokens`.

    Left out is what only fills logs (`policy_options`), what the runner knows itself (`runner_info.uuid`), what nobody
    can ask for yet (`suspend_options`), and a step `release`: many runners know no steps but the two of scripts.
    """
    job, plan = hand_out.job, hand_out.job.plan
    timeout = min(job.timeout, runner.maximum_timeout or job.timeout)
    variables = job_variables(hand_out, runner, token, settings, issued)
    return {
        "id": job.id,
        "token": token,
        "allow_git_fetch": hand_out.project.git_fetch,
        "job_info": _job_info(hand_out, settings),
        "git_info": _git_info(hand_out, token, variables, settings),
        "runner_info": {"timeout": timeout},
        "inputs": _inputs(plan.get("inputs", {}), job.inputs or {}),
        "variables": [variable_document(item) for item in variables],
        **_work(plan, timeout),
        **({"steps_resume": hand_out.steps_resume} if hand_out.steps_resume else {}),
        "image": image(plan.get("image")),
        "services": services(plan.get("services", ())),
        "hooks": [{"name": name, "script": list(script)} for name, script in plan.get("hooks", {}).items()],
        "artifacts": artifacts(plan.get("artifacts")),
        "cache": caches(plan, variables, protected=is_protected(hand_out)),
        "credentials": registry_credentials(settings, token),
        "dependencies": [dependency(row, token) for row in hand_out.dependencies],
        **({"secrets": secrets(plan["secrets"], variables)} if plan.get("secrets") else {}),
        "features": {
            "trace_sections": True,
            "token_mask_prefixes": _MASKED_PREFIXES,
            "failure_reasons": list(OF_GITLAB),
            "tracing": None,
            **({"steps_artifact": True} if hand_out.job.plan.get("run") else {}),
        },
    }


def _job_info(hand_out: HandOut, settings: Settings) -> dict[str, Any]:
    """What the runner names, measures and logs a job by; the order of a claim looks at one entry of the queue only."""
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
        "instance_id": settings.url_host,
        "instance_uuid": hand_out.installation_id,
        "user_id": job.user_id,
        "scoped_user_id": None,
        "time_in_queue_seconds": max(0, round(waited)),
        "project_jobs_running_on_instance_runners_count": str(hand_out.running_elsewhere),
        "queue_size": hand_out.waiting,
        "queue_depth": 1,
    }


def _git_info(hand_out: HandOut, token: str, variables: Iterable[JobVariable], settings: Settings) -> dict[str, Any]:
    """The commit is fetched by its id: a branch that moved on, or is gone, does not matter.

    Whoever asks for the whole history (`GIT_DEPTH: 0`) gets all branches and tags with it, as from GitLab.
    """
    pipeline = hand_out.pipeline
    is_merge_request = pipeline.ref.startswith(MERGE_REQUEST_REFS)
    depth = _depth(hand_out, variables)
    return {
        "repo_url": repository_url(settings.url, hand_out.project.full_path, token),
        "repo_object_format": "sha1" if len(pipeline.sha) <= _SHA1_DIGITS else "sha256",
        "ref": pipeline.ref,
        "sha": pipeline.sha,
        "before_sha": pipeline.before_sha,
        "ref_type": "merge_request" if is_merge_request else "tag" if pipeline.tag else "branch",
        "refspecs": [
            f"+{pipeline.sha}:refs/pipelines/{pipeline.id}",
            *(_moving_refspecs(hand_out) if depth else _EVERYTHING),
        ],
        "depth": depth,
        "protected": is_protected(hand_out),
    }


def moving_ref(pipeline: PipelineRow) -> str:
    """Full name of the branch or tag that jobs of a pipeline fetch beside their commit; empty for none.

    The refs of merge requests are ours, and say nothing that the commit does not: they are not fetched.
    """
    if pipeline.ref.startswith(MERGE_REQUEST_REFS):
        return ""
    return full_ref(pipeline.ref, tag=pipeline.tag)


def _moving_refspecs(hand_out: HandOut) -> list[str]:
    """git fetches nothing at all when it is asked for a ref that is gone, so such a ref is left out."""
    pipeline, source = hand_out.pipeline, moving_ref(hand_out.pipeline)
    if not source or hand_out.ref_gone:
        return []
    return [f"+{source}:{source if pipeline.tag else f'refs/remotes/origin/{pipeline.ref}'}"]


def _depth(hand_out: HandOut, variables: Iterable[JobVariable]) -> int:
    """How many commits are fetched, 0 for all: whoever sets `GIT_DEPTH` wins as with any variable, then the project."""
    asked = next((item.value for item in variables if item.key == "GIT_DEPTH"), "")
    return int(asked) if _DEPTH.fullmatch(asked) else hand_out.project.git_depth or 0


def _work(plan: Mapping[str, Any], timeout: int) -> dict[str, Any]:
    """Either scripts or CI steps. A job with scripts must have no `run` at all: an empty one loses the job."""
    if plan.get("run"):
        return {"steps": [], "run": orjson.dumps(plan["run"]).decode()}
    return {"steps": _steps(plan, timeout)}


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


def _inputs(specs: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every job input with what it was given, else its default; a runner that knows them puts them into the scripts."""
    return [
        {"key": name, "value": {"type": spec["type"], "content": given.get(name, spec["default"]), "sensitive": False}}
        for name, spec in specs.items()
    ]
