"""What a job gets that is not of its own pipeline (archives, dotenv), and whether all it depends on is still there.

Read in the transaction of the claim; a job without such needs costs no query. Source: docs/reference/ci-yaml.md,
"Needs"; docs/reference/runner-protocol.md, "Picking a job".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import caller_from
from application.jobs.filled_text import filled_text
from application.pipelines.refs import ref_of_pipelines
from application.pods.other_pods import other_pod
from application.services import Services
from auth.permissions import Action, level_of, require
from domain.config.plan import ForeignNeed
from domain.decimal_number import decimal_number
from domain.errors import AmbiguousRef, Forbidden, NotFound, Unavailable
from domain.pipelines.cross_pod_needs import GOOD_FOR, Needed
from domain.variables.job_variables import JobVariable
from models.repositories.accounts import members
from models.repositories.artifacts import foreign_archives
from models.repositories.artifacts.foreign_archives import ForeignJobRow
from models.repositories.pipelines import cross_pod_needs
from models.repositories.projects import projects
from models.repositories.projects.project_paths import written_path
from models.repositories.queue.hand_outs import HandOut
from models.rows.accounts import UserRow


@dataclass(frozen=True, slots=True)
class ForeignArchive:
    """The archive of a job of another pipeline: `id` and `name` are those of the job.

    `token` is the one by which another pod opens it; empty for an archive of this one.
    """

    id: int
    name: str
    filename: str
    size: int
    token: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Archives that the job may have, or why it cannot run: `missing` is a sentence for each that is not there.

    `dotenv` holds the variables that the jobs of the needs have reported (`key` and `value` of each).
    """

    archives: tuple[ForeignArchive, ...] = ()
    dotenv: tuple[Mapping[str, str], ...] = ()
    missing: tuple[str, ...] = ()


def asks_beyond(hand_out: HandOut) -> bool:
    """Whether a job needs artifacts from outside its pipeline."""
    return bool(hand_out.job.plan.get("foreign_needs"))


async def gone_dependencies(connection: AsyncConnection, services: Services, hand_out: HandOut) -> Found:
    """What is not there any more of the archives of the job's own pipeline."""
    names = await foreign_archives.gone(connection, hand_out.pipeline.id, hand_out.dependencies, services.clock())
    return Found(missing=tuple(f"the artifacts of job {name} have expired; run that job again" for name in names))


class NeedsOtherPod(Unavailable):
    """A job needs something of another pod, which has not answered yet."""

    def __init__(self, job_id: int) -> None:
        """The job waits."""
        super().__init__(f"Job {job_id} waits for what another pod has.")
        self.job_id = job_id


async def foreign_dependencies(
    connection: AsyncConnection,
    services: Services,
    hand_out: HandOut,
    variables: Iterable[JobVariable],
    *,
    to_begin: bool = False,
) -> Found:
    """What `needs:pipeline` and `needs:project` name; `variables` are the job's, expanded.

    Raises `NeedsOtherPod` while another pod has not answered; for a job `to_begin` its answer must not be old.
    """
    archives: list[ForeignArchive] = []
    dotenv: list[Mapping[str, str]] = []
    missing: list[str] = []
    for position, need in needs_of(hand_out.job.plan, tuple(variables)):
        if need.project and other_pod(services, need.project) is not None:
            fault, archive, told = await _answered(connection, services, hand_out, position, to_begin=to_begin)
        else:
            fault, archive, told = await _judged(connection, services, hand_out, need)
        dotenv.extend(told)
        if archive is not None:
            archives.append(archive)
        if fault and not need.optional:
            missing.append(fault)
    return Found(tuple(archives), tuple(dotenv), tuple(missing))


async def _answered(
    connection: AsyncConnection, services: Services, hand_out: HandOut, position: int, *, to_begin: bool
) -> tuple[str, ForeignArchive | None, Sequence[Mapping[str, str]]]:
    """What another pod has answered to a need."""
    row = await cross_pod_needs.answer_to(connection, hand_out.job.id, position)
    if row is None or (to_begin and row.answered_at + GOOD_FOR < services.clock()):
        raise NeedsOtherPod(hand_out.job.id)
    needed = Needed(**row.answer)
    if not row.sealed_token:
        return needed.fault, None, needed.dotenv
    token = services.sealer.open(row.sealed_token, sealed_for_need(hand_out.job.id))
    return needed.fault, ForeignArchive(needed.id, needed.name, needed.filename, needed.size, token), needed.dotenv


def sealed_for_need(job_id: int) -> str:
    """What the token of another pod's archive is sealed for: it is a secret as long as it is stored."""
    return f"needs of job {job_id}"


async def judged(
    connection: AsyncConnection, services: Services, need: ForeignNeed, found: ForeignJobRow | None
) -> tuple[str, ForeignArchive | None]:
    """Why a job cannot have what it needs, or the archive that it gets, if there is one."""
    fault = _fault(need, found)
    if fault or found is None or not found.filename or found.size is None:
        return fault, None
    if await foreign_archives.gone(connection, found.pipeline_id, [found], services.clock()):
        return f"the artifacts of {_words(need)} have expired; run that job again", None
    return "", ForeignArchive(found.id, found.name, found.filename, found.size)


def with_dotenv(hand_out: HandOut, found: Found) -> HandOut:
    """The rows with the variables that were found; those of the job's own pipeline win."""
    return replace(hand_out, dotenv=(*found.dotenv, *hand_out.dotenv))


def needs_of(plan: Mapping[str, Any], variables: tuple[JobVariable, ...]) -> Iterable[tuple[int, ForeignNeed]]:
    """Those that bring artifacts, with all variables put in, each with its position in the plan."""
    for position, document in enumerate(plan["foreign_needs"]):
        need = ForeignNeed(**document)
        if need.job and need.artifacts:
            written = (need.job, need.pipeline, need.project, need.ref)
            job, pipeline, project, ref = (filled_text(text, variables).strip() for text in written)
            yield position, replace(need, job=job, pipeline=pipeline, project=project, ref=ref)


async def _judged(
    connection: AsyncConnection, services: Services, hand_out: HandOut, need: ForeignNeed
) -> tuple[str, ForeignArchive | None, Sequence[Mapping[str, str]]]:
    """What this pod has for a need."""
    try:
        found = await _find(connection, services, hand_out, need)
    except AmbiguousRef as error:
        return f"{_words(need)} was not found: {error}", None, ()
    fault, archive = await judged(connection, services, need, found)
    return fault, archive, () if fault or found is None else found.dotenv or ()


async def _find(
    connection: AsyncConnection, services: Services, hand_out: HandOut, need: ForeignNeed
) -> ForeignJobRow | None:
    if need.project:
        return await found_here(connection, services, hand_out.user, need)
    pipeline_id = decimal_number(need.pipeline)
    if pipeline_id is None or pipeline_id == hand_out.pipeline.id:
        return None
    return await foreign_archives.in_family(connection, hand_out.pipeline.id, pipeline_id, need.job)


async def found_here(
    connection: AsyncConnection, services: Services, user: UserRow, need: ForeignNeed
) -> ForeignJobRow | None:
    """The job of a project of this pod that a need names, if the user may read that. Raises `AmbiguousRef`."""
    project_id = await _readable(connection, user, need.project)
    if project_id is None:
        return None
    meant = await ref_of_pipelines(services.repositories, project_id, need.ref)
    return await foreign_archives.of_project(connection, project_id, *meant, need.job)


async def _readable(connection: AsyncConnection, user: UserRow, path: str) -> int | None:
    """The project of that path, if the user may read it. What is forbidden looks like what is not there."""
    written = await written_path(connection, path)
    row = await projects.find(connection, written or "")
    member = await members.level_in_project(connection, 0 if row is None else row.id, user.id)
    if row is None:
        return None
    caller = caller_from(user)
    try:
        require(caller, Action.READ, level_of(caller, member, row.visibility), row.visibility)
    except (NotFound, Forbidden):
        return None
    return row.id


def _fault(need: ForeignNeed, found: ForeignJobRow | None) -> str:
    """Why the job cannot have what it needs; a job that announces no archive is needed for nothing, and no fault."""
    if found is None and need.project:
        return (
            f"{_words(need)} was not found: the project must exist and be readable for you, "
            "and the latest successful pipeline of the ref must have a job of that name that succeeded"
        )
    if found is None:
        return (
            f"{_words(need)} was not found: it must be a successful job of another pipeline "
            "of the same family of parent and child pipelines"
        )
    announced = found.announced or {}
    if not found.filename and (announced.get("paths") or announced.get("untracked")):
        return f"{_words(need)} has no artifacts: its runner uploaded none"
    return ""


def _words(need: ForeignNeed) -> str:
    """The need as people call it."""
    if need.project:
        return f"job {need.job} of project {need.project}, ref {need.ref or '(empty)'}"
    return f"job {need.job} of pipeline {need.pipeline or '(empty)'}"
