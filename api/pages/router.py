"""The pages as one router; include it last, its paths are the most general ones."""

from typing import Final

from api.pages import (
    access_tokens,
    api_document,
    assets,
    badges,
    charts,
    groups,
    home,
    job_log,
    jobs,
    merge_requests,
    new_pipeline,
    oidc,
    pipelines,
    profile,
    release_files,
    sign_in,
    unit_tests,
    visits,
)
from api.routes import RouteList

_FORM_BYTES: Final = 1024 * 1024
"""Of a form: whatever is larger is refused before it is read."""

router = RouteList(include_in_schema=False, max_body_size=_FORM_BYTES)
for part in (
    assets,
    api_document,
    badges,
    sign_in,
    oidc,
    visits,
    profile,
    access_tokens,
    home,
    groups,
    new_pipeline,
    charts,
    unit_tests,
    pipelines,
    jobs,
    merge_requests,
    job_log,
    release_files,
):
    router.include(part.router)
