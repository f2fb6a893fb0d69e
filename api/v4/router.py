"""The REST API as one router: GitLab's paths below `/api/v4`, the runner protocol excepted."""

from fastapi import APIRouter, Depends

from api.v4 import (
    artifacts,
    deployments,
    environments,
    group_runners,
    jobs,
    lint,
    members,
    organisations,
    pipeline_jobs,
    pipelines,
    project_artifacts,
    project_runners,
    projects,
    releases,
    resource_groups,
    runner_jobs,
    runners,
    trace_events,
    traces,
    user_runners,
    users,
    versions,
    why,
)
from api.v4.origin import require_token_or_our_pages

router = APIRouter(prefix="/api/v4", dependencies=[Depends(require_token_or_our_pages)])
for part in (
    versions,
    users,
    organisations,
    projects,
    members,
    pipelines,
    pipeline_jobs,
    project_artifacts,
    jobs,
    why,
    lint,
    traces,
    trace_events,
    artifacts,
    resource_groups,
    environments,
    deployments,
    releases,
    user_runners,
    project_runners,
    group_runners,
    runner_jobs,
    runners,
):
    router.include_router(part.router)
