"""What routes ask for by type: services, the caller, a project the caller may use."""

from datetime import UTC, timedelta
from typing import Annotated, Final

from fastapi import Depends, Request

from api.browser_visits import is_over
from api.call_turns import counts_for, key_of_address
from api.pods.job_of_pod import job_of_pod
from api.rate_limits import note_known_caller
from api.refused_secrets import refused_token
from api.services import Services
from api.shown_tokens import job_token_of, session_of, token_of
from application.access import ProjectAccess, access_to, caller_from
from application.accounts.proof_of_identity import Proven
from application.accounts.token_chains import end_reused
from application.jobs.calls_of_other_pods import caller_of as caller_of_job
from application.jobs.job_callers import caller_by_job
from auth.job_routes import scope_for
from auth.permissions import NOBODY, Caller
from auth.scopes import Use, require_scope, use_of
from auth.secret_token import digest
from auth.session_token import read_session
from domain.errors import Unauthenticated
from git.turns import CALLER, GitCaller
from models.repositories.accounts import accounts, sessions
from models.rows.accounts import UserRow

_NOTED_EVERY: Final = timedelta(minutes=10)
"""How exact the time of a token's last use is, as in GitLab."""


async def services_of(request: Request) -> Services:
    """The services of this application; a coroutine, since a plain function would go through a thread."""
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(services_of)]


async def caller_of(request: Request, services: ServicesDep) -> Caller:
    """Who calls. The call, and git that runs for it, count as theirs, or as their address's. Raises `Unavailable`."""
    caller = await shown_caller(request, services)
    if caller.is_known:
        note_known_caller(request)
    elif is_over(request, services):
        raise Unauthenticated("Unauthorized")  # a visit that is over: the page leads home, and back with another one
    of_git = CALLER.get() or GitCaller()
    of_git.key = key_of(request, caller)
    await counts_for(request, of_git.key)
    CALLER.set(of_git)
    return caller


def key_of(request: Request, caller: Caller) -> str:
    """Whose share of everything limited a request takes: an account's, or its address's."""
    return f"user {caller.user_id}" if caller.is_known else key_of_address(address_of(request))


async def shown_caller(request: Request, services: Services) -> Caller:
    """Who calls: by token, or by the session of a browser. A wrong token is an error, none at all is nobody.

    The token of a job counts where GitLab permits it, and is passed over elsewhere; likewise what a pod says of one.
    """
    token = token_of(request)
    if elsewhere := job_of_pod(request.scope):
        is_for_jobs = scope_for(request.method, request.scope["path"]) is not None
        return await caller_of_job(services, elsewhere, address_of(request)) if is_for_jobs else NOBODY
    if of_job := job_token_of(request, token):
        scope = scope_for(request.method, request.scope["path"])
        if scope is not None:
            return await caller_by_job(services, of_job, scope, address_of(request))
    if token:
        use = use_of(request.method, request.url.path)
        try:
            caller = await caller_by_token(services, token, address_of(request))
        except Unauthenticated:
            if use is Use.ROTATE_SELF:
                await end_reused(services, digest(token), address_of(request))
            raise
        require_scope(caller.scopes or (), use)
        return caller
    session = session_of(request)
    if not session:
        return NOBODY
    found = await proof_of_session(services, session)
    if found is None:
        return NOBODY
    await _note_activity(services, found.row)
    return caller_from(found.row, token_id=found.token_id, address=address_of(request))


async def proof_of_session(services: Services, session: str) -> Proven | None:
    """The person who is signed in by a session, and the token that it began with; None for one that is not good."""
    try:
        found = read_session(services.key, session)
    except Unauthenticated:
        return None
    async with services.database.read() as connection:
        row = await sessions.person_of(connection, found.user_id, found.epoch, found.session_id, found.token_id)
    return None if row is None else Proven(row, found.token_id)


async def caller_by_token(services: Services, token: str, address: str = "") -> Caller:
    """The person behind a token, who calls from an address. Raises `Unauthenticated`."""
    async with services.database.read() as connection:
        row = await accounts.by_token(connection, digest(token))
    if row is None:
        raise Unauthenticated(refused_token(token))
    now = services.clock()
    if row.last_used_at is None or now - row.last_used_at > _NOTED_EVERY:
        async with services.database.write() as connection:
            await accounts.note_use(connection, row.token_id, now)
    await _note_activity(services, row)
    return caller_from(row, token_id=row.token_id, scopes=tuple(row.scopes), address=address)


async def _note_activity(services: Services, row: UserRow) -> None:
    """Remember that a person was here today: one write a day. Runners and jobs come in by other ways."""
    today = services.clock().astimezone(UTC).date()
    if row.last_activity_on is None or row.last_activity_on < today:
        async with services.database.write() as connection:
            await accounts.note_activity(connection, row.id, today)


def address_of(request: Request) -> str:
    """The address that a call comes from."""
    return request.client.host if request.client is not None else ""


CallerDep = Annotated[Caller, Depends(caller_of)]


async def project_of(project: str, services: ServicesDep, caller: CallerDep) -> ProjectAccess:
    """The project that a path names, by id or by its full path in one segment (`group%2Fname`)."""
    return await access_to(services, caller, project)


ProjectDep = Annotated[ProjectAccess, Depends(project_of)]
