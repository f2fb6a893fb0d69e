"""`/jwt/auth`: who may do what in the container registry (the token protocol of the distribution registry).

A client names repositories and what it wants to do with them; the token says what of that it may. A job may use the
images of the projects that its token names, a deploy token those of its project or group, a person those of projects
that they may read or push to, and everybody those of public projects.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from sqlalchemy.ext.asyncio import AsyncConnection

from api.basic_auth import basic_credentials
from api.deps import ServicesDep, caller_by_token
from api.errors import headers_of, status_of
from api.refused_secrets import refused_at_registry
from api.routes import RouteList
from api.runner.body import SMALL, json_object, text
from api.services import Services
from application.accounts.deploy_token_access import deploy_token_of, is_deploy_token
from application.jobs.job_access import claims_for, held
from application.jobs.job_callers import user_of
from auth.job_token import PREFIX, JobClaims, Scope, scope_of
from auth.permissions import LEVEL_FOR, NOBODY, Action, Caller, level_of
from auth.registry_token import LIFETIME, SERVICE, registry_token
from auth.scopes import Scope as Scopes
from auth.scopes import Use, permits, require_scope
from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Unauthenticated
from models.repositories.accounts import members
from models.repositories.namespaces import deploy_tokens
from models.repositories.projects import projects
from models.repositories.projects.project_paths import written_path
from models.rows.deploy_tokens import DeployTokenRow

_CODES: Final = {400: "UNSUPPORTED", 401: "UNAUTHORIZED", 403: "DENIED", 404: "UNAVAILABLE", 429: "TOOMANYREQUESTS"}
"""Status -> what the distribution registry calls it."""


class SpeaksAsRegistry(APIRoute):
    """A route whose errors have the registry's form: container tools show the words of no other."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the route, and its errors."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except PerdureError as error:
                status = status_of(error)
                document = {"code": _CODES.get(status, "UNKNOWN"), "message": str(error)}
                return JSONResponse({"errors": [document]}, status, headers_of(error))

        return handle


router = RouteList(kind=SpeaksAsRegistry)

_SCOPE: Final = re.compile(
    r"repository:"
    r"(?P<name>[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)"
    r":(?P<actions>[a-z,*]+)"
)
"""The parts of a name are those of the distribution registry's grammar: `..` is none."""
_MAX_SCOPES: Final = 20
_USES: Final = {"pull": Use.PULL_IMAGE, "push": Use.PUSH_IMAGE}
_NEEDS: Final = {"pull": (Action.READ, Scope.REGISTRY_PULL), "push": (Action.PUSH, Scope.REGISTRY_PUSH)}
"""Action -> what a person must be allowed to do with the project, and what a job token must be for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client wants: repositories with actions, and how it shows who it is."""

    service: str
    scopes: tuple[str, ...]
    username: str
    password: str


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks: a running job, a person, a deploy token, or nobody."""

    name: str
    caller: Caller = NOBODY
    job: JobClaims | None = None
    deploy_token: DeployTokenRow | None = None

    @property
    def is_known(self) -> bool:
        """Whether it has shown who it is."""
        return self.job is not None or self.deploy_token is not None or self.caller.is_known


async def asked_by_query(request: Request) -> Asked:
    """The question of a GET; `scope` may come several times, and hold several."""
    query = request.query_params
    scopes = tuple(scope for text in query.getlist("scope") for scope in text.split())
    return Asked(query.get("service", ""), scopes, *basic_credentials(request))


async def asked_by_form(request: Request) -> Asked:
    """The question of a POST; there the password may be in the form."""
    form = await json_object(request, SMALL)
    scopes = tuple(text(form, "scope").split())
    username, password = basic_credentials(request)
    if in_form := text(form, "password"):
        username, password = text(form, "username"), in_form
    return Asked(text(form, "service"), scopes, username, password)


@router.get("/jwt/auth")
async def by_query(asked: Annotated[Asked, Depends(asked_by_query)], services: ServicesDep) -> dict[str, Any]:
    """A token for the registry."""
    return await _answer(services, asked)


@router.post("/jwt/auth")
async def by_form(asked: Annotated[Asked, Depends(asked_by_form)], services: ServicesDep) -> dict[str, Any]:
    """The same for clients that ask as OAuth 2 does; there are no refresh tokens."""
    return await _answer(services, asked)


async def _answer(services: Services, asked: Asked) -> dict[str, Any]:
    if not services.settings.registry_url:
        raise NotFound("Not Found: no container registry is set (PERDURE_REGISTRY_URL).")
    if asked.service != SERVICE or len(asked.scopes) > _MAX_SCOPES:
        raise Invalid(f"Bad request: service must be {SERVICE}, with {_MAX_SCOPES} scopes at most.")
    try:
        requester = await _requester(services, asked.username, asked.password)
    except Unauthenticated as error:
        raise Unauthenticated(refused_at_registry(asked.password)) from error
    access = [item for scope in asked.scopes for item in await _granted(services, requester, scope)]
    if not access and not requester.is_known:
        raise Unauthenticated("Unauthorized: sign in with a personal access token or a job token.")
    if not access and asked.scopes:
        raise Forbidden("Forbidden: you may do nothing of that with these images.")
    if requester.job is not None:
        async with services.database.write() as connection:
            await held(connection, requester.job)  # renews the lease, as every call that is granted
    now = services.clock()
    # RSA keys take a while, to make the first one a fifth of a second: not on the event loop
    token = await asyncio.to_thread(registry_token, services.identity_keys, requester.name, access, now)
    moment = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"token": token, "access_token": token, "expires_in": int(LIFETIME.total_seconds()), "issued_at": moment}


async def _requester(services: Services, username: str, password: str) -> Requester:
    """Who shows this password; a job must run. Raises `Forbidden`, `Unauthenticated`."""
    if not password:
        return Requester("")
    if is_deploy_token(password):
        token = await deploy_token_of(services, username, password)
        return Requester(token.username, deploy_token=token)
    if not password.startswith(PREFIX):
        caller = await caller_by_token(services, password)
        require_scope(caller.scopes or (), Use.PULL_IMAGE)
        return Requester(caller.username, caller)
    claims = claims_for(services, password)
    await user_of(services, claims)
    return Requester(f"job-{claims.job_id}", job=claims)


async def _project_of(connection: AsyncConnection, parts: Sequence[str]) -> str | None:
    """The full path of the project that an image's name begins with; its own name may have any number of parts.

    All of them are looked up, whichever is one: the time tells nothing of projects that the caller may not know of.
    """
    beginnings = ["/".join(parts[:count]) for count in range(len(parts), 1, -1)]
    found = [await written_path(connection, beginning) for beginning in beginnings]
    return next((written for written in found if written is not None), None)


async def _granted(services: Services, requester: Requester, scope: str) -> list[dict[str, Any]]:
    """What of one scope is permitted; nothing for what is unknown, which looks like what is forbidden."""
    found = _SCOPE.fullmatch(scope)
    if found is None:
        return []
    async with services.database.read() as connection:
        written = await _project_of(connection, found["name"].split("/"))
        row = await projects.find(connection, written or "")
        member = await members.level_in_project(connection, 0 if row is None else row.id, requester.caller.user_id)
        token = requester.deploy_token
        is_for_it = token is not None and await deploy_tokens.opens(connection, token, 0 if row is None else row.id)
    if row is None:
        return []
    level = level_of(requester.caller, member, row.visibility)
    scopes = requester.caller.scopes or (Scopes.READ_REGISTRY,)
    named = requester.job.scopes if requester.job is not None else ()
    allowed = {
        action
        for action, (of_person, of_job) in _NEEDS.items()
        if (level >= LEVEL_FOR[of_person] and permits(scopes, _USES[action]))
        or scope_of(of_job, row.id) in named
        or (token is not None and is_for_it and permits(token.scopes, _USES[action]))
    }
    actions = sorted(allowed.intersection(found["actions"].split(",")))
    return [{"type": "repository", "name": found["name"], "actions": actions}] if actions else []
