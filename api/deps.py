"""What routes ask for by type: services, the caller, a project the caller may use."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from api.services import Services
from auth.permissions import NOBODY, Action, Caller, level_of, require
from auth.secret_token import digest
from auth.session_token import COOKIE, read_session
from domain.errors import NotFound, Unauthenticated
from models.repositories import accounts, projects


async def services_of(request: Request) -> Services:
    """The services of this application; a coroutine, since a plain function would go through a thread."""
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(services_of)]


def token_of(request: Request) -> str:
    """The personal access token of a request, from any place where GitLab's clients put it; empty if there is none."""
    bearer = request.headers.get("authorization", "")
    if bearer.lower().startswith("bearer "):
        return bearer[7:].strip()
    return request.headers.get("private-token") or request.query_params.get("private_token") or ""


async def caller_of(request: Request, services: ServicesDep) -> Caller:
    """Who calls: by token, or by the session of a browser. A wrong token is an error, none at all is nobody."""
    token = token_of(request)
    if token:
        return await caller_by_token(services, token)
    session = request.cookies.get(COOKIE)
    if not session:
        return NOBODY
    try:
        user_id = read_session(services.key, session)
        async with services.database.read() as connection:
            row = await accounts.get(connection, user_id)
    except (Unauthenticated, NotFound):
        return NOBODY
    return Caller(row.id, row.username, row.is_admin)


async def caller_by_token(services: Services, token: str) -> Caller:
    """The person behind a token. Raises `Unauthenticated`."""
    async with services.database.read() as connection:
        row = await accounts.by_token(connection, digest(token))
    if row is None:
        raise Unauthenticated("401 Unauthorized")
    return Caller(row.id, row.username, row.is_admin)


CallerDep = Annotated[Caller, Depends(caller_of)]


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """A project as one caller may use it. `row` has the columns of `models.tables.Project`."""

    row: Any
    caller: Caller
    level: int

    def require(self, action: Action) -> None:
        """Raise unless the caller may do it."""
        require(self.caller, action, self.level, self.row.visibility)


async def access_to(services: Services, caller: Caller, reference: int | str) -> ProjectAccess:
    """A project that the caller may at least read. Raises `NotFound`."""
    async with services.database.read() as connection:
        row = await projects.find(connection, reference)
        if row is None:
            raise NotFound("404 Project Not Found")
        member = await projects.member_level(connection, row.id, caller.user_id)
    access = ProjectAccess(row, caller, level_of(caller, member, row.visibility))
    access.require(Action.READ)
    return access


async def project_of(project: str, services: ServicesDep, caller: CallerDep) -> ProjectAccess:
    """The project that a path names, by id or by its full path in one segment (`group%2Fname`)."""
    return await access_to(services, caller, project)


ProjectDep = Annotated[ProjectAccess, Depends(project_of)]
