"""What routes ask for by type: services, the caller, a project the caller may use."""

from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import Annotated, Any, Final

from fastapi import Depends, Request

from api.call_turns import counts_for, key_of_address
from api.job_callers import caller_by_job
from api.rate_limits import note_known_caller
from api.refused_secrets import refused_token
from api.services import Services
from api.shown_tokens import job_token_of, token_of
from auth.job_routes import scope_for
from auth.permissions import NOBODY, Action, Caller, level_of, require
from auth.scopes import require_scope, use_of
from auth.secret_token import digest
from auth.session_token import COOKIE, read_session
from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.merge_requests import own_branch_of
from domain.protection import Protection
from git.turns import CALLER, GitCaller
from models.repositories import accounts, job_token_access, members, projects, protected_refs, sessions
from models.repositories.audit import Entity
from models.repositories.projects import Viewer

_NOTED_EVERY: Final = timedelta(minutes=10)
"""How exact the time of a token's last use is, as in GitLab."""
_ENDING: Final = frozenset({"cancel_pipeline", "cancel_job"})
"""Operations that run nothing."""
_CHANGING: Final = frozenset({Action.PUSH, Action.RUN})
"""What nobody does with an archived project."""


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
    of_git = CALLER.get() or GitCaller()
    of_git.key = key_of(request, caller)
    await counts_for(request, of_git.key)
    CALLER.set(of_git)
    return caller


def key_of(request: Request, caller: Caller) -> str:
    """Whose share of everything limited a request takes: an account's, or its address's."""
    return f"user {caller.user_id}" if caller.is_known else key_of_address(address_of(request))


def viewer_of(caller: Caller) -> Viewer:
    """The caller as lists know them."""
    return Viewer(caller.user_id, caller.is_admin, internal=caller.is_known and not caller.external)


async def shown_caller(request: Request, services: Services) -> Caller:
    """Who calls: by token, or by the session of a browser. A wrong token is an error, none at all is nobody.

    The token of a job counts where GitLab permits it, and is passed over elsewhere.
    """
    token = token_of(request)
    if of_job := job_token_of(request, token):
        scope = scope_for(request.method, request.scope["path"])
        if scope is not None:
            return await caller_by_job(services, of_job, scope, address_of(request))
    if token:
        caller = await caller_by_token(services, token, address_of(request))
        require_scope(caller.scopes or (), use_of(request.method, request.url.path))
        return caller
    session = request.cookies.get(COOKIE)
    if not session:
        return NOBODY
    try:
        found = read_session(services.key, session)
    except Unauthenticated:
        return NOBODY
    async with services.database.read() as connection:
        row = await sessions.person_of(connection, found.user_id, found.epoch, found.session_id, found.token_id)
    if row is None:
        return NOBODY
    await _note_activity(services, row)
    return caller_from(row, address=address_of(request))


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


async def _note_activity(services: Services, row: Any) -> None:
    """Remember that a person was here today: one write a day. Runners and jobs come in by other ways."""
    today = services.clock().astimezone(UTC).date()
    if row.last_activity_on is None or row.last_activity_on < today:
        async with services.database.write() as connection:
            await accounts.note_activity(connection, row.id, today)


def caller_from(row: Any, **more: Any) -> Caller:
    """The caller that a person's row makes."""
    return Caller(row.id, row.username, row.is_admin, row.external, **more)


def address_of(request: Request) -> str:
    """The address that a call comes from."""
    return request.client.host if request.client is not None else ""


CallerDep = Annotated[Caller, Depends(caller_of)]


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """A project as one caller may use it. `row` has the columns of `models.tables.Project`.

    `member_level` is what he is there as a member: whoever may see an open project has a `level` without being one.
    """

    row: Any
    caller: Caller
    level: int
    protection: Protection
    member_level: int = 0

    def require(self, action: Action) -> None:
        """Raise unless the caller may do it."""
        require(self.caller, action, self.level, self.row.visibility)
        if self.row.archived and action in _CHANGING:
            raise Forbidden("403 Forbidden: the project is archived; nothing of it changes until it is unarchived.")

    @property
    def entity(self) -> Entity:
        """The project as audit events name it."""
        return Entity("project", self.row.id, self.row.full_path)

    def require_run(self, ref: str, *, tag: bool) -> None:
        """Raise unless the caller may run pipelines, and jobs of them, on a ref: a protected one asks for more."""
        self.require(Action.RUN)
        if not self.protection.may_run(ref, self.level, tag=tag):
            kind = "tag" if tag else "branch"
            raise Forbidden(
                f"403 Forbidden: {ref} is a protected {kind}; only who may change it may run pipelines on it."
            )

    def require_operation(self, name: str, pipeline: Any) -> None:
        """Raise unless the caller may ask a pipeline for an operation: whatever runs something needs the right to."""
        if name in _ENDING:
            self.require(Action.RUN)
        else:
            self.require_run_of(pipeline)

    def require_run_of(self, pipeline: Any) -> None:
        """Raise unless the caller may run jobs of a pipeline; one that is protected asks for both of its branches."""
        facts = pipeline.merge_request
        self.require_run(own_branch_of(pipeline.ref, facts), tag=pipeline.tag)
        if facts and pipeline.ref_protected:
            self.require_run(facts["target_branch"], tag=False)

    def may_run(self, pipeline: Any) -> bool:
        """Whether the caller may run jobs of a pipeline."""
        try:
            self.require_run_of(pipeline)
        except (Forbidden, NotFound, Unauthenticated):
            return False
        return True


async def access_to(
    services: Services, caller: Caller, reference: int | str, least: Action = Action.READ
) -> ProjectAccess:
    """A project that the caller may at least read, or do what `least` says. Raises `NotFound`, `Forbidden`.

    To a job of a project that this one does not let in, it is what it is to strangers. The database is asked the same
    for a project that is not there as for one that the caller may not know of: the time of an answer tells neither.
    """
    async with services.database.read() as connection:
        row = await projects.find(connection, reference)
        member = await members.level_in_project(connection, 0 if row is None else row.id, caller.user_id)
        if caller.job_id and not await job_token_access.allows(connection, row, caller.job_project_id):
            caller, member = replace(caller, is_admin=False), 0
        if row is None:
            raise NotFound("404 Project Not Found")
        level = level_of(caller, member, row.visibility)
        require(caller, Action.SEE, level, row.visibility)
        protection = await protected_refs.of_project(connection, row.id)
    access = ProjectAccess(row, caller, level, protection, member)
    access.require(least)
    return access


async def project_of(project: str, services: ServicesDep, caller: CallerDep) -> ProjectAccess:
    """The project that a path names, by id or by its full path in one segment (`group%2Fname`)."""
    return await access_to(services, caller, project)


ProjectDep = Annotated[ProjectAccess, Depends(project_of)]
