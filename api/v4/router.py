"""The REST API as one router: GitLab's paths below `/api/v4`, the runner protocol excepted."""

from fastapi import APIRouter, Depends

from api.v4 import (
    artifacts,
    deployments,
    environments,
    jobs,
    lint,
    members,
    organisations,
    pipeline_jobs,
    pipelines,
    projects,
    releases,
    resource_groups,
    runners,
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
    jobs,
    why,
    lint,
    traces,
    artifacts,
    resource_groups,
    environments,
    deployments,
    releases,
    user_runners,
    runners,
):
    router.include_router(part.router)
