"""Git over smart HTTP: fetch by user, job or deploy token, push by user token (and a push creates pipelines)."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import structlog
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from api.basic_auth import basic_credentials
from api.deps import ServicesDep, caller_by_token, key_of
from api.errors import text_of
from api.git_metrics import git_response, measured
from api.pages.frame.project_paths import CONVERTOR as PROJECT_PATH
from api.pods.job_of_pod import job_of_pod
from api.refused_secrets import UNAUTHORIZED, refused_git
from api.routes import RouteList
from api.services import Services
from application.access import ProjectAccess, access_to
from application.accounts.deploy_token_access import deploy_token_of, is_deploy_token
from application.jobs.calls_of_other_pods import JobOfPod
from application.jobs.calls_of_other_pods import caller_of as caller_of_job
from application.jobs.job_access import claims_for, held
from application.jobs.job_callers import user_of
from application.pushes.push import receive
from auth.job_token import PREFIX, Scope, scope_of
from auth.permissions import LEVEL_FOR, LEVEL_NAMES, NOBODY, Action, Caller, require
from auth.scopes import Use, require_scope
from domain.errors import Forbidden, NotFound, PerdureError, Unauthenticated
from domain.projects.protection import Protection
from git.repository import Repository
from git.transport.pkt_line import error_packet
from git.transport.smart_http import Service, advertise, gunzip, protocol_version, serve
from git.turns import FETCHES, turn_of
from models.repositories.namespaces import deploy_tokens
from models.repositories.projects import projects

router = RouteList()
log = structlog.get_logger()

_NO_CACHE: Final = {"Cache-Control": "no-cache, max-age=0, must-revalidate", "Expires": "Fri, 01 Jan 1980 00:00:00 GMT"}
_REPOSITORY: Final = f"/{{path:{PROJECT_PATH}}}.git"
_ELSEWHERE: Final = "Forbidden: this job token is for another project, and this one does not let its jobs in."
_NO_PUSH: Final = "Forbidden: a job token cannot push."
_NO_MEMBER: Final = "Forbidden: the user of this job may not read this project any more, and so may its token not."
_BLOCKED: Final = "Forbidden: the user of this job is blocked, and so is the job's token."
_VERBS: Final = {Service.RECEIVE_PACK: "push to", Service.UPLOAD_PACK: "fetch from"}
_USES: Final = {Service.RECEIVE_PACK: Use.PUSH, Service.UPLOAD_PACK: Use.FETCH}
_TOO_LOW: Final = (
    "Forbidden: you are not allowed to {what} this project. That takes the role {role}; ask one of its maintainers."
    " You are signed in as {name}."
)
_NOT_THERE: Final = "Project Not Found: there is no project {path}, or you may not see it. You are signed in as {name}."
_NOT_FOUND: Final = "Project Not Found: there is no project {path}, or you may not see it."
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="Perdure"'}


@dataclass(frozen=True, slots=True)
class GitAccess:
    """A repository that the caller may use for one service."""

    project: ProjectAccess
    repository: Repository
    key: str
    """Whose share of the transfers it takes; each job has its own."""


@router.get(_REPOSITORY + "/info/refs")
async def info_refs(path: str, request: Request, services: ServicesDep) -> Response:
    """What a repository offers."""
    service = _service(request.query_params.get("service", ""))
    access = await _access(services, request, path, service)
    if access is None:
        return _who_are_you(request, services, service)
    version = protocol_version(request.headers.get("git-protocol"))
    stream = measured(advertise(access.repository, service, version), "info-refs", services.metrics)
    return await _streamed(stream, f"application/x-{service}-advertisement")


@router.post(_REPOSITORY + "/git-upload-pack")
async def upload_pack(path: str, request: Request, services: ServicesDep) -> Response:
    """Clone and fetch."""
    access = await _access(services, request, path, Service.UPLOAD_PACK)
    if access is None:
        return _who_are_you(request, services, Service.UPLOAD_PACK)
    version, kind = protocol_version(request.headers.get("git-protocol")), "application/x-git-upload-pack-result"
    stream = _in_turn(access, serve(access.repository, Service.UPLOAD_PACK, _body(request), version))
    stream = measured(stream, Service.UPLOAD_PACK, services.metrics)
    try:
        return await _streamed(stream, kind)
    except PerdureError as error:  # git shows nothing of what HTTP says now
        log.warning("a fetch was refused", path=path, error=str(error))
        return Response(error_packet(text_of(error)), 200, _NO_CACHE, kind)


@router.post(_REPOSITORY + "/git-receive-pack")
async def receive_pack(path: str, request: Request, services: ServicesDep) -> Response:
    """Push; every branch and tag that moved has its pipeline when this answers."""
    access = await _access(services, request, path, Service.RECEIVE_PACK)
    if access is None:
        return _who_are_you(request, services, Service.RECEIVE_PACK)
    with git_response(services.metrics, Service.RECEIVE_PACK) as seen:
        response = await receive(services, access.project, access.repository, _body(request), access.key)
        seen.size = len(response)
    return Response(response, 200, _NO_CACHE, "application/x-git-receive-pack-result")


async def _in_turn(access: GitAccess, stream: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    """What git says to a fetch, once its caller may have one more."""
    async with turn_of(FETCHES, access.key, str(access.repository.path)), aclosing(stream):
        async for chunk in stream:
            yield chunk


def _service(name: str) -> Service:
    try:
        return Service(name)
    except ValueError as error:
        raise Forbidden("Forbidden: only git's smart HTTP protocol is spoken here.") from error


def _who_are_you(request: Request, services: Services, service: Service) -> Response:
    text = refused_git(basic_credentials(request)[1], _USES[service], services.settings.url)
    return Response(text, 401, _CHALLENGE, "text/plain")


async def _access(services: Services, request: Request, path: str, service: Service) -> GitAccess | None:
    """The repository, if the caller may use it; None asks for a password. Raises `NotFound`, `Forbidden`."""
    if calling := job_of_pod(request.scope):
        return await _access_of_job_of_pod(services, calling, path, service)
    username, password = basic_credentials(request)
    if password.startswith(PREFIX):
        return await _access_of_job(services, password, path, service)
    if is_deploy_token(password):
        return await _access_of_deploy_token(services, username, password, path, service)
    try:
        caller = await caller_by_token(services, password) if password else NOBODY
        if caller.scopes is not None:
            require_scope(caller.scopes, _USES[service])
        project = await _of_caller(services, caller, path)
        _require(project, service)
    except Unauthenticated:
        return None
    return GitAccess(project, services.repositories.get(project.row.id), key_of(request, caller))


async def _of_caller(services: Services, caller: Caller, path: str) -> ProjectAccess:
    """The project as the caller sees it. Raises `NotFound`; `Unauthenticated` while they may still sign in."""
    try:
        return await access_to(services, caller, path)
    except NotFound as error:
        if not caller.is_known:
            raise Unauthenticated(UNAUTHORIZED) from error
        raise NotFound(_NOT_THERE.format(path=path, name=caller.username)) from error


def _require(project: ProjectAccess, service: Service) -> None:
    """Raise, in words for people who read them in a terminal, unless the caller may fetch or push."""
    action = Action.PUSH if service is Service.RECEIVE_PACK else Action.READ
    try:
        require(project.caller, action, project.level, project.row.visibility)
    except Forbidden as error:
        role, name = LEVEL_NAMES[LEVEL_FOR[action]], project.caller.username
        raise Forbidden(_TOO_LOW.format(what=_VERBS[service], role=role, name=name)) from error
    project.require(action)


async def _access_of_job(services: Services, token: str, path: str, service: Service) -> GitAccess:
    """A running job reads its project's repository, and those that let it in; each such call renews its lease."""
    claims = claims_for(services, token)
    if service is Service.RECEIVE_PACK:
        raise Forbidden(_NO_PUSH)
    async with services.database.read() as connection:
        row = await projects.find(connection, path)
    if scope_of(Scope.GIT_READ, claims.project_id) not in claims.scopes:
        raise Forbidden(_ELSEWHERE)
    try:
        user = await user_of(services, claims)
    except Unauthenticated as error:
        raise Forbidden(_BLOCKED) from error
    is_own = row is not None and row.id == claims.project_id
    access = await (_of_own if is_own else _of_another)(services, user, path)
    async with services.database.write() as connection:
        await held(connection, claims)
    return GitAccess(access, services.repositories.get(access.row.id), f"job {claims.job_id}")


async def _access_of_job_of_pod(services: Services, calling: JobOfPod, path: str, service: Service) -> GitAccess:
    """A job of another pod reads what it may as its user has an account here."""
    if service is Service.RECEIVE_PACK:
        raise Forbidden(_NO_PUSH)
    access = await _of_another(services, await caller_of_job(services, calling), path)
    return GitAccess(access, services.repositories.get(access.row.id), calling.key)


async def _of_own(services: Services, user: Caller, path: str) -> ProjectAccess:
    """The job's own project, if its user may still read it: they may have left while the job ran."""
    try:
        return await access_to(services, user, path)
    except (NotFound, Unauthenticated, Forbidden) as error:
        raise Forbidden(_NO_MEMBER) from error


async def _of_another(services: Services, user: Caller, path: str) -> ProjectAccess:
    """Another project than the job's own: one that lets its jobs in, or is open, and that its user may read."""
    try:
        return await access_to(services, user, path)
    except (NotFound, Unauthenticated) as error:
        raise Forbidden(_ELSEWHERE) from error


async def _access_of_deploy_token(
    services: Services, username: str, password: str, path: str, service: Service
) -> GitAccess | None:
    """A deploy token fetches from the projects that it is for; of others it is a stranger."""
    try:
        token = await deploy_token_of(services, username, password)
    except Unauthenticated:
        return None
    if service is Service.RECEIVE_PACK:
        raise Forbidden("Forbidden: a deploy token cannot push; use an access token of the project.")
    require_scope(token.scopes, Use.FETCH)
    async with services.database.read() as connection:
        row = await projects.find(connection, path)
        is_for_it = await deploy_tokens.opens(connection, token, 0 if row is None else row.id)
    if row is not None and is_for_it:
        access = ProjectAccess(row, NOBODY, 0, Protection())
    else:
        access = await _of_a_stranger(services, path)
    return GitAccess(access, services.repositories.get(access.row.id), f"deploy token {token.id}")


async def _of_a_stranger(services: Services, path: str) -> ProjectAccess:
    """A project that is open to everybody. Raises `NotFound`."""
    try:
        return await access_to(services, NOBODY, path)
    except (NotFound, Unauthenticated) as error:
        raise NotFound(_NOT_FOUND.format(path=path)) from error


def _body(request: Request) -> AsyncIterator[bytes]:
    if request.headers.get("content-encoding", "") == "gzip":
        return gunzip(request.stream())
    return request.stream()


async def _streamed(stream: AsyncIterator[bytes], kind: str) -> Response:
    """Begin only when git has said something: an error before that is still an error of HTTP."""
    first = await anext(stream, b"")

    async def rest() -> AsyncIterator[bytes]:
        yield first
        async for chunk in stream:
            yield chunk

    return StreamingResponse(rest(), 200, _NO_CACHE, kind)
