"""The installation: its settings, features and figures, for administrators."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import APIRouter, Request

from api.deps import ServicesDep
from api.v4.access import KnownCallerDep
from api.v4.parameters import parameters
from auth.permissions import require_admin
from domain.errors import Invalid, NotFound
from models.repositories.projects import counts
from settings import Settings

router = APIRouter()

_MEBIBYTE: Final = 1024 * 1024
_FIXED: Final = "it is so here, and cannot be otherwise"


def _variable(name: str) -> str:
    return f"{name} says so when the server is started"


def _always(value: Any) -> Callable[[Settings], Any]:
    return lambda _told: value


_SETTINGS: Final[Mapping[str, tuple[Callable[[Settings], Any], str]]] = {
    "home_page_url": (_always(None), _FIXED),
    "signup_enabled": (lambda told: bool(told.oidc.issuer and told.oidc.create_accounts), _FIXED),
    "password_authentication_enabled_for_web": (_always(True), _FIXED),
    "default_project_visibility": (_always("private"), _FIXED),
    "default_group_visibility": (_always("private"), _FIXED),
    "restricted_visibility_levels": (_always([]), _FIXED),
    "user_default_external": (_always(False), _FIXED),
    "auto_devops_enabled": (lambda told: told.auto_devops, _variable("PERDURE_AUTO_DEVOPS")),
    "allow_runner_registration_token": (
        lambda told: told.registration_tokens,
        _variable("PERDURE_REGISTRATION_TOKENS"),
    ),
    "shared_runners_enabled": (_always(True), _FIXED),
    "keep_latest_artifact": (_always(True), "each project says so for itself"),
    "default_artifacts_expire_in": (
        lambda told: f"{int(told.times.artifact_expire_in)} seconds",
        _variable("PERDURE_ARTIFACT_EXPIRE_IN"),
    ),
    "max_artifacts_size": (lambda told: told.sizes.artifact_bytes // _MEBIBYTE, _variable("PERDURE_ARTIFACT_BYTES")),
    "max_yaml_size_bytes": (lambda told: told.sizes.config_bytes, _variable("PERDURE_CONFIG_BYTES")),
    "receive_max_input_size": (lambda told: told.sizes.push_bytes // _MEBIBYTE, _variable("PERDURE_PUSH_BYTES")),
    "throttle_authenticated_api_enabled": (lambda told: told.rates.api_calls > 0, _variable("PERDURE_API_CALLS")),
    "throttle_authenticated_api_requests_per_period": (
        lambda told: told.rates.api_calls,
        _variable("PERDURE_API_CALLS"),
    ),
    "throttle_authenticated_api_period_in_seconds": (_always(60), _FIXED),
    "throttle_unauthenticated_api_enabled": (
        lambda told: told.rates.anonymous_api_calls > 0,
        _variable("PERDURE_ANONYMOUS_API_CALLS"),
    ),
    "throttle_unauthenticated_api_requests_per_period": (
        lambda told: told.rates.anonymous_api_calls,
        _variable("PERDURE_ANONYMOUS_API_CALLS"),
    ),
    "throttle_unauthenticated_api_period_in_seconds": (_always(60), _FIXED),
    "pipeline_limit_per_project_user_sha": (
        lambda told: told.rates.pipelines_created,
        _variable("PERDURE_PIPELINES_CREATED"),
    ),
}
"""By GitLab's name of a setting: what it is here, and who says so."""


def _shown(settings: Settings) -> dict[str, Any]:
    return {"id": 1, **{name: read(settings) for name, (read, _) in _SETTINGS.items()}}


@router.get("/application/settings")
async def get_settings(caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """The settings of the installation that GitLab has too; only administrators may."""
    require_admin(caller)
    return _shown(services.settings)


@router.put("/application/settings")
async def change_settings(request: Request, caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """Settings are given when the server is started; one that is given here as it is changes nothing, all else is 400.

    Only administrators may.
    """
    require_admin(caller)
    wanted = await parameters(request, services.settings.sizes.json_bytes)
    shown = _shown(services.settings)
    if not wanted:
        raise Invalid(f"{', '.join(_SETTINGS)} are missing, at least one parameter must be provided")
    faults = [
        f"{name} cannot be changed: " + (_SETTINGS[name][1] if name in _SETTINGS else "there is no such setting here")
        for name, value in wanted.items()
        if name not in shown or str(shown[name]).lower() != str(value).lower()
    ]
    if faults:
        raise Invalid("; ".join(faults))
    return shown


@router.get("/application/statistics")
async def get_statistics(caller: KnownCallerDep, services: ServicesDep) -> dict[str, int]:
    """How much there is of everything; of what there is nothing here, 0. Only administrators may."""
    require_admin(caller)
    async with services.database.read() as connection:
        found = await counts.of_everything(connection)
    return {"issues": 0, "notes": 0, "snippets": 0, "ssh_keys": 0, "milestones": 0, **found}


@router.get("/features/", include_in_schema=False)  # as python-gitlab writes it
@router.get("/features")
async def list_features(caller: KnownCallerDep) -> list[dict[str, Any]]:
    """Feature flags of the server: there are none. Only administrators may."""
    require_admin(caller)
    return []


@router.get("/license")
async def get_license(caller: KnownCallerDep) -> dict[str, Any]:
    """There is none, as in GitLab's Community Edition: 404."""
    require_admin(caller)
    raise NotFound("404 Not Found: this installation has no licence, as GitLab CE has none; see its file LICENSE.")
