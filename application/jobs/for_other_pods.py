"""Artifacts of this pod that jobs of others need: what there is, and a token that opens it."""

from datetime import timedelta

from application.jobs.foreign_dependencies import found_here, judged
from application.pods.cross_pod_people import person_of_pod
from application.pods.other_pods import require_places
from application.services import Services
from domain.config.plan import ForeignNeed
from domain.errors import AmbiguousRef
from domain.pipelines.cross_pod_needs import MAX_SECONDS, Needed, NeedRequest
from domain.pods.directory import Pod


async def needed_elsewhere(services: Services, pod: Pod, request: NeedRequest) -> Needed:
    """What a job of another pod may have, by the rights of the account that its user has here.

    Raises `Unavailable` where somebody's copy of the directory may be older.
    """
    directory = require_places(services, pod, request.full_path, request.path)
    need = ForeignNeed(job=request.job, project=request.path, ref=request.ref)
    user = await person_of_pod(services, directory, pod.number, request.username, request.home_id)
    async with services.database.read() as connection:
        try:
            found = None if user is None else await found_here(connection, services, user, need)
        except AmbiguousRef as error:
            return Needed(fault=f"{request.path}: {error}")
        fault, archive = await judged(connection, services, need, found)
    if fault or found is None:
        return Needed(fault=fault)
    dotenv = tuple(found.dotenv or ())
    if archive is None:
        return Needed(id=found.id, name=found.name, dotenv=dotenv)
    lifetime = timedelta(seconds=max(1, min(request.seconds, MAX_SECONDS)))
    token = services.job_tokens.issue_for_archive(archive.id, lifetime, services.clock())
    return Needed("", archive.id, archive.name, archive.filename, archive.size, dotenv, token)
