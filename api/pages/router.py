"""The pages as one router; include it last, its paths are the most general ones."""

from typing import Final

from api.pages import api_document
from api.pages.accounts import access_tokens, oidc, people, profile, sign_in, visits
from api.pages.environments import environment, environments
from api.pages.frame import assets, components, palette
from api.pages.jobs import job, job_log
from api.pages.merge_requests import actions, editing, listing, merge_request, merge_trains, new_request, tabs
from api.pages.pipelines import (
    builds,
    configuration,
    findings,
    history,
    listing,
    new_pipeline,
    pipeline,
    tests_of_pipeline,
    timeline,
)
from api.pages.projects import badges, charts, groups, home, new_project, release_files, unit_tests
from api.pages.repositories import commits, comparisons, trees
from api.pages.runners import runners
from api.pages.schedules import schedule_form, schedules
from api.routes import RouteList

_FORM_BYTES: Final = 1024 * 1024
"""Of a form: whatever is larger is refused before it is read."""

router = RouteList(include_in_schema=False, max_body_size=_FORM_BYTES)
for part in (
    assets,
    components,
    palette,
    api_document,
    badges,
    sign_in,
    oidc,
    visits,
    profile,
    access_tokens,
    home,
    runners,
    groups,
    new_project,
    new_pipeline,
    schedule_form,
    schedules,
    environments,
    environment,
    charts,
    unit_tests,
    listing,
    pipeline,
    builds,
    timeline,
    tests_of_pipeline,
    findings,
    configuration,
    history,
    job,
    listing,
    new_request,
    merge_request,
    editing,
    tabs,
    actions,
    merge_trains,
    job_log,
    release_files,
    people,
    commits,
    comparisons,
    trees,
):
    router.include(part.router)
