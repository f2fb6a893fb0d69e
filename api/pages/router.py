"""The pages as one router; include it last, its paths are the most general ones."""

from typing import Final

from api.pages import api_document
from api.pages.accounts import (
    access_tokens,
    notifications,
    oidc,
    people,
    profile,
    sign_in,
    unsubscribing,
    visits,
)
from api.pages.environments import environment, environment_form, environments
from api.pages.frame import assets, components, palette
from api.pages.jobs import (
    artifact_files,
    artifact_pages,
    artifacts_of_ref,
    attempts,
    job,
    job_actions,
    job_forms,
    job_log,
)
from api.pages.merge_requests import actions, editing, merge_request, merge_trains, new_request, tabs
from api.pages.merge_requests import listing as merge_requests
from api.pages.pipelines import (
    builds,
    configuration,
    findings,
    history,
    new_pipeline,
    pipeline,
    tests_of_pipeline,
    timeline,
)
from api.pages.pipelines import listing as pipelines
from api.pages.projects import (
    badges,
    charts,
    groups,
    home,
    integrations,
    new_project,
    releases,
    unit_tests,
    uploads,
)
from api.pages.repositories import commits, comparisons, downloads, tags, trees
from api.pages.runners import runners
from api.pages.schedules import schedule_form, schedules
from api.routes import RouteList

_FORM_BYTES: Final = 1024 * 1024
"""Of a form: whatever is larger is refused before it is read."""

_FRAME: Final = (assets, components, palette, api_document)
_ACCOUNTS: Final = (sign_in, oidc, visits, profile, access_tokens, notifications, unsubscribing)
_LISTS: Final = (home, runners, groups, new_project)
_PIPELINES: Final = (
    *(new_pipeline, schedule_form, schedules, charts, unit_tests, pipelines),
    *(pipeline, builds, timeline, tests_of_pipeline, findings, configuration, history),
)
_JOBS: Final = (
    *(job, artifacts_of_ref, job_actions, job_forms, attempts, artifact_pages, artifact_files),
    job_log,
)
_REQUESTS: Final = (merge_requests, new_request, merge_request, editing, tabs, actions, merge_trains)
_PROJECTS: Final = (
    badges,
    environments,
    environment_form,
    environment,
    integrations,
    releases,
    tags,
    downloads,
    uploads,
    commits,
    comparisons,
    trees,
)

router = RouteList(include_in_schema=False, max_body_size=_FORM_BYTES)
for part in (*_FRAME, *_PROJECTS, *_ACCOUNTS, *_LISTS, *_PIPELINES, *_JOBS, *_REQUESTS, people):
    router.include(part.router)
