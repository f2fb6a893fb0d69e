"""`id_tokens` of a job: masked variables with a token each (docs/reference/runner-protocol.md, "Job document")."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import caller_from
from application.jobs.filled_text import filled_text
from application.jobs.variables import JobRunner, is_protected, job_variables
from application.services import Services
from auth.identity_token import identity_token
from auth.permissions import LEVEL_NAMES, level_of
from domain.merge_requests.merge_request import own_branch_of
from domain.projects.config_place import config_ref, config_ref_uri
from domain.projects.ref_names import full_ref
from domain.variables.job_variables import JobVariable
from models.repositories.accounts import members
from models.repositories.queue.hand_outs import HandOut

CLAIMS: Final = (
    *("iss", "sub", "aud", "exp", "nbf", "iat", "jti"),
    *("namespace_id", "namespace_path", "project_id", "project_path", "project_visibility"),
    *("user_id", "user_login", "user_email", "user_access_level"),
    *("pipeline_id", "pipeline_source", "job_id", "ref", "ref_type", "ref_path", "ref_protected", "sha"),
    *("environment", "environment_protected", "deployment_tier", "environment_action"),
    *("runner_id", "runner_environment", "ci_config_ref_uri", "ci_config_sha"),
)
"""What a token may say. Ids are strings, but for that of the runner."""

_AFTER_TIMEOUT: Final = timedelta(minutes=5)
_OF_ENVIRONMENT: Final = {
    "environment": "CI_ENVIRONMENT_NAME",
    "deployment_tier": "CI_ENVIRONMENT_TIER",
    "environment_action": "CI_ENVIRONMENT_ACTION",
}


async def id_tokens(
    connection: AsyncConnection, services: Services, hand_out: HandOut, runner: JobRunner, token: str
) -> tuple[JobVariable, ...]:
    """A variable for each of the job's `id_tokens`; audiences may hold variables. A job without any costs nothing."""
    wanted: Mapping[str, Iterable[str]] = hand_out.job.plan.get("id_tokens", {})
    if not wanted:
        return ()
    variables = job_variables(hand_out, runner, token, services.settings)
    user, project = hand_out.user, hand_out.project
    member = await members.level_in_project(connection, project.id, user.id)
    level = level_of(caller_from(user), member, "private")
    claims = {
        **_of_project(hand_out, services.settings.url),
        **_of_configuration(hand_out, services.settings.url_fqdn),
        **_of_environment(variables),
        "user_id": str(user.id),
        "user_login": user.username,
        "user_email": user.email,
        "user_access_level": LEVEL_NAMES.get(level),
        "runner_id": runner.id,
        "runner_environment": "self-hosted",
    }
    lifetime = timedelta(seconds=min(hand_out.job.timeout, runner.maximum_timeout or hand_out.job.timeout))
    issued = []
    for name, audiences in wanted.items():
        filled = [filled_text(audience, variables) for audience in audiences]
        document = {**claims, "aud": filled[0] if len(filled) == 1 else filled}
        # RSA keys take a while, to make the first one a fifth of a second: not on the event loop
        value = await asyncio.to_thread(
            identity_token, services.identity_keys, document, lifetime + _AFTER_TIMEOUT, services.clock()
        )
        issued.append(JobVariable(name, value, public=False, masked=True, raw=True))
    return tuple(issued)


def _of_configuration(hand_out: HandOut, server: str) -> dict[str, str]:
    """Where the configuration is; nothing, as in GitLab, of one that is no file of the pipeline's commit.

    Not read from the job's variables: those of the configuration win over ours.
    """
    pipeline, project = hand_out.pipeline, hand_out.project
    place = config_ref(project.config_path, pipeline.config_source, full_ref(pipeline.ref, tag=pipeline.tag))
    if not place:
        return {}
    return {"ci_config_ref_uri": config_ref_uri(server, project.full_path, place), "ci_config_sha": pipeline.sha}


def _of_project(hand_out: HandOut, url: str) -> dict[str, Any]:
    job, pipeline, project = hand_out.job, hand_out.pipeline, hand_out.project
    ref_type = "tag" if pipeline.tag else "branch"
    ref = own_branch_of(pipeline.ref, pipeline.merge_request)
    return {
        "iss": url,
        "sub": f"project_path:{project.full_path}:ref_type:{ref_type}:ref:{ref}",
        "namespace_id": str(project.organisation_id),
        "namespace_path": project.full_path.rpartition("/")[0],
        "project_id": str(project.id),
        "project_path": project.full_path,
        "project_visibility": project.visibility,
        "pipeline_id": str(pipeline.id),
        "pipeline_source": pipeline.source,
        "job_id": str(job.id),
        "ref": ref,
        "ref_type": ref_type,
        "ref_path": full_ref(pipeline.ref, tag=pipeline.tag),
        "ref_protected": "true" if is_protected(hand_out) else "false",
        "sha": pipeline.sha,
    }


def _of_environment(variables: Iterable[JobVariable]) -> dict[str, str]:
    """Nothing for a job without an environment."""
    known = {item.key: item.value for item in variables}
    if not known.get("CI_ENVIRONMENT_NAME"):
        return {}
    return {"environment_protected": "false", **{claim: known.get(name, "") for claim, name in _OF_ENVIRONMENT.items()}}
