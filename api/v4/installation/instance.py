"""The installation: its settings, features and figures, for administrators."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from fastapi import Request
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import KnownCallerDep
from api.v4.parameters import parameters
from auth.permissions import require_admin
from domain.errors import Invalid, NotFound
from models.repositories.projects import counts
from settings import Settings

router = RouteList()

_MEBIBYTE: Final = 1024 * 1024


class InstallationSettingsResponse(TypedDict):
    """The settings of the installation that GitLab has too, by its names of them."""

    id: int
    home_page_url: str | None
    signup_enabled: bool
    password_authentication_enabled_for_web: bool
    default_project_visibility: str
    default_group_visibility: str
    restricted_visibility_levels: list[str]
    user_default_external: bool
    auto_devops_enabled: bool
    allow_runner_registration_token: bool
    shared_runners_enabled: bool
    keep_latest_artifact: bool
    default_artifacts_expire_in: str
    max_artifacts_size: int
    max_yaml_size_bytes: int
    receive_max_input_size: int
    throttle_authenticated_api_enabled: bool
    throttle_authenticated_api_requests_per_period: int
    throttle_authenticated_api_period_in_seconds: int
    throttle_unauthenticated_api_enabled: bool
    throttle_unauthenticated_api_requests_per_period: int
    throttle_unauthenticated_api_period_in_seconds: int
    pipeline_limit_per_project_user_sha: int


class InstallationStatisticsResponse(TypedDict):
    """How much there is of everything."""

    issues: int
    notes: int
    snippets: int
    ssh_keys: int
    milestones: int
    forks: int
    merge_requests: int
    users: int
    groups: int
    projects: int
    active_users: int


class FeatureResponse(TypedDict):
    """A feature flag of the server."""

    name: str
    state: str


_VARIABLES: Final[Mapping[str, str]] = {
    "auto_devops_enabled": "PERDURE_AUTO_DEVOPS",
    "allow_runner_registration_token": "PERDURE_REGISTRATION_TOKENS",
    "default_artifacts_expire_in": "PERDURE_ARTIFACT_EXPIRE_IN",
    "max_artifacts_size": "PERDURE_ARTIFACT_BYTES",
    "max_yaml_size_bytes": "PERDURE_CONFIG_BYTES",
    "receive_max_input_size": "PERDURE_PUSH_BYTES",
    "throttle_authenticated_api_enabled": "PERDURE_API_CALLS",
    "throttle_authenticated_api_requests_per_period": "PERDURE_API_CALLS",
    "throttle_unauthenticated_api_enabled": "PERDURE_ANONYMOUS_API_CALLS",
    "throttle_unauthenticated_api_requests_per_period": "PERDURE_ANONYMOUS_API_CALLS",
    "pipeline_limit_per_project_user_sha": "PERDURE_PIPELINES_CREATED",
}
"""By GitLab's name of a setting: the environment variable that says what it is."""


def _shown(told: Settings) -> InstallationSettingsResponse:
    return {
        "id": 1,
        "home_page_url": None,
        "signup_enabled": bool(told.oidc.issuer and told.oidc.create_accounts),
        "password_authentication_enabled_for_web": True,
        "default_project_visibility": "private",
        "default_group_visibility": "private",
        "restricted_visibility_levels": [],
        "user_default_external": False,
        "auto_devops_enabled": told.auto_devops,
        "allow_runner_registration_token": told.registration_tokens,
        "shared_runners_enabled": True,
        "keep_latest_artifact": True,
        "default_artifacts_expire_in": f"{int(told.times.artifact_expire_in)} seconds",
        "max_artifacts_size": told.sizes.artifact_bytes // _MEBIBYTE,
        "max_yaml_size_bytes": told.sizes.config_bytes,
        "receive_max_input_size": told.sizes.push_bytes // _MEBIBYTE,
        "throttle_authenticated_api_enabled": told.rates.api_calls > 0,
        "throttle_authenticated_api_requests_per_period": told.rates.api_calls,
        "throttle_authenticated_api_period_in_seconds": 60,
        "throttle_unauthenticated_api_enabled": told.rates.anonymous_api_calls > 0,
        "throttle_unauthenticated_api_requests_per_period": told.rates.anonymous_api_calls,
        "throttle_unauthenticated_api_period_in_seconds": 60,
        "pipeline_limit_per_project_user_sha": told.rates.pipelines_created,
    }


def _why_not(name: str, known: Collection[str]) -> str:
    """Why a setting cannot be another one here."""
    if name in _VARIABLES:
        return f"{_VARIABLES[name]} says so when the server is started"
    if name == "keep_latest_artifact":
        return "each project says so for itself"
    return "it is so here, and cannot be otherwise" if name in known else "there is no such setting here"


@router.get("/application/settings")
async def get_settings(caller: KnownCallerDep, services: ServicesDep) -> InstallationSettingsResponse:
    """The settings of the installation that GitLab has too; only administrators may."""
    require_admin(caller)
    return _shown(services.settings)


@router.put("/application/settings")
async def change_settings(
    request: Request, caller: KnownCallerDep, services: ServicesDep
) -> InstallationSettingsResponse:
    """Settings are given when the server is started; one that is given here as it is changes nothing, all else is 400.

    Only administrators may.
    """
    require_admin(caller)
    wanted = await parameters(request, services.settings.sizes.json_bytes)
    shown = _shown(services.settings)
    texts = {name: str(value).lower() for name, value in shown.items()}
    known = [name for name in shown if name != "id"]
    if not wanted:
        raise Invalid(f"{', '.join(known)} are missing, at least one parameter must be provided")
    faults = [
        f"{name} cannot be changed: {_why_not(name, known)}"
        for name, value in wanted.items()
        if texts.get(name) != str(value).lower()
    ]
    if faults:
        raise Invalid("; ".join(faults))
    return shown


@router.get("/application/statistics")
async def get_statistics(caller: KnownCallerDep, services: ServicesDep) -> InstallationStatisticsResponse:
    """How much there is of everything; of what there is nothing here, 0. Only administrators may."""
    require_admin(caller)
    async with services.database.read() as connection:
        found = await counts.of_everything(connection)
    return {
        "issues": 0,
        "notes": 0,
        "snippets": 0,
        "ssh_keys": 0,
        "milestones": 0,
        "forks": found["forks"],
        "merge_requests": found["merge_requests"],
        "users": found["users"],
        "groups": found["groups"],
        "projects": found["projects"],
        "active_users": found["active_users"],
    }


@router.get("/features/", include_in_schema=False)  # as python-gitlab writes it
@router.get("/features")
async def list_features(caller: KnownCallerDep) -> list[FeatureResponse]:
    """Feature flags of the server: there are none. Only administrators may."""
    require_admin(caller)
    return []


@router.get("/license")
async def get_license(caller: KnownCallerDep) -> dict[str, Any]:
    """There is none, as in GitLab's Community Edition: 404."""
    require_admin(caller)
    raise NotFound("Not Found: this installation has no licence, as GitLab CE has none; see its file LICENSE.")
