"""Projects and groups of other pods whose jobs get into a project of this one, and what other pods ask of ours."""

from typing import Final

from pydantic import TypeAdapter

from application.access import ProjectAccess, access_to, caller_from
from application.group_access import access_to_group
from application.pods.cross_pod_people import account_at_home, person_of_pod
from application.pods.other_pods import require_places
from application.pods.pod_calls import ask
from application.services import Services
from auth.permissions import Action, Caller, GroupAction
from domain.errors import Forbidden, NotFound
from domain.pods.directory import IdKind, Pod
from domain.pods.job_calls import Source, SourceRequest
from models.repositories.accounts import accounts

_SOURCE: Final = TypeAdapter(Source)
_NOT_FOUND: Final = {IdKind.PROJECT: "Project Not Found", IdKind.GROUP: "Group Not Found"}


async def source_elsewhere(services: Services, project: ProjectAccess, pod: int, kind: IdKind, key: int) -> str:
    """The full path of a project or group of another pod, by the rights that the caller has there.

    Raises `NotFound`, `Forbidden` for a bot, `Unavailable`.
    """
    async with services.database.read() as connection:
        user = await accounts.get(connection, project.caller.user_id)
    if user.bot:
        raise Forbidden("Tokens of projects and groups let in jobs of their own pod only.")
    if services.cluster is None:
        raise NotFound(_NOT_FOUND[kind])
    request = SourceRequest(user.username, account_at_home(user), project.row.full_path, kind, key)
    found = await ask(services.cluster, pod, "POST", "/sources", _SOURCE, request)
    if not found.full_path:
        raise NotFound(_NOT_FOUND[kind])
    return found.full_path


async def source_here(services: Services, pod: Pod, request: SourceRequest) -> Source:
    """A project or group of this pod as somebody may see it who acts in another one.

    Raises `Unavailable` where somebody's copy of the directory may be older.
    """
    directory = require_places(services, pod, request.full_path, "")
    user = await person_of_pod(services, directory, pod.number, request.username, request.home_id)
    try:
        return Source() if user is None else Source(await _path_of(services, caller_from(user), request))
    except (NotFound, Forbidden):
        return Source()


async def _path_of(services: Services, caller: Caller, request: SourceRequest) -> str:
    if request.kind is IdKind.PROJECT:
        return (await access_to(services, caller, request.id, Action.SEE)).row.full_path
    group = await access_to_group(services, caller, str(request.id))
    group.require(GroupAction.SEE)
    return group.row.full_path
