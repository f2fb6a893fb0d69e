"""One pass over all jobs, which tells of each pipeline enough to see whether a rule about its rows may not hold.

The kinds of jobs of a stage are a number with a bit for each: a few hundred combinations stand for all pipelines, so
that what they fold into is asked once for each combination and not once for each pipeline.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import BigInteger, String, case, cast, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.pipelines.folding import COUNTS
from models.repositories.pipelines.job_rows import job
from models.tables.pipelines import Pipeline, Stage
from models.typed_rows import all_of

pipeline = table_of(Pipeline)
stage = table_of(Stage)

_STATES: Final = tuple(Status)
_MAY_FAIL, _UNFOLDED = 1 << 2, 1 << 1
"""By how much the bit of a state is multiplied: four bits are of each."""
_STRANGE: Final = 1 << (4 * len(_STATES))
"""The bit of a state that nobody knows."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How one or several jobs of a stage stand."""

    stage_position: int
    status: str
    allow_failure: bool
    folded: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """A pipeline. `stages` is `position:status` for each, `jobs` is `position:kinds` for each stage with jobs.

    `is_odd` says that its attempts do not add up, or that a verdict of it waits.
    """

    id: int
    status: str
    has_ended: bool
    stages: str | None
    jobs: str | None
    is_odd: bool


_BIT: Final = (
    case(
        {state: literal(1 << (4 * number), BigInteger) for number, state in enumerate(_STATES)},
        value=job.c.status,
        else_=literal(_STRANGE, BigInteger),
    )
    * case((job.c.allow_failure, _MAY_FAIL), else_=1)
    * case((job.c.folded, 1), else_=_UNFOLDED)
)
_latest: Final = func.sum(case((job.c.retried, 0), else_=1))
_each: Final = func.count(job.c.first_id.distinct())
_first: Final = func.sum(case((job.c.first_id == job.c.id, 1), else_=0))
_each_latest: Final = func.count(case((~job.c.retried, job.c.first_id)).distinct())
_waiting: Final = func.sum(case((job.c.folded, 0), else_=1))
_IS_ODD: Final = or_(_each != _first, _each != _latest, _each_latest != _latest, _waiting > 0)
"""First attempts are of the same stage as what they are the first of, and each has one latest attempt."""
_BY_STAGE: Final = (
    select(
        job.c.pipeline_id,
        job.c.stage_position,
        func.sum(case((COUNTS, _BIT)).distinct()).label("kinds"),
        case((_IS_ODD, 1), else_=0).label("is_odd"),
    )
    .group_by(job.c.pipeline_id, job.c.stage_position)
    .subquery()
)
_kinds: Final = cast(func.coalesce(_BY_STAGE.c.kinds, 0), String)
_JOBS: Final = (
    select(
        _BY_STAGE.c.pipeline_id,
        func.aggregate_strings(cast(_BY_STAGE.c.stage_position, String) + ":" + _kinds, " ").label("jobs"),
        func.max(_BY_STAGE.c.is_odd).label("is_odd"),
    )
    .group_by(_BY_STAGE.c.pipeline_id)
    .subquery()
)
_STAGES: Final = (
    select(
        stage.c.pipeline_id,
        func.aggregate_strings(cast(stage.c.position, String) + ":" + stage.c.status, " ").label("stages"),
    )
    .group_by(stage.c.pipeline_id)
    .subquery()
)
_LOOK: Final = (
    select(
        pipeline.c.id,
        pipeline.c.status,
        pipeline.c.finished_at.is_not(None).label("has_ended"),
        _STAGES.c.stages,
        _JOBS.c.jobs,
        (func.coalesce(_JOBS.c.is_odd, 0) > 0).label("is_odd"),
    )
    .outerjoin(_STAGES, _STAGES.c.pipeline_id == pipeline.c.id)
    .outerjoin(_JOBS, _JOBS.c.pipeline_id == pipeline.c.id)
    .order_by(pipeline.c.id)
)


async def look(connection: AsyncConnection) -> Sequence[Looked]:
    """Every pipeline."""
    return all_of(Looked, await connection.execute(_LOOK))


def is_strange(jobs: str | None) -> bool:
    """Whether one of them has a state that nobody knows."""
    return any(kinds >= _STRANGE for _, kinds in _pairs(jobs))


def standings(jobs: str | None) -> Iterator[Standing]:
    """The kinds of jobs, by stage."""
    for position, kinds in _pairs(jobs):
        for number in range(4 * len(_STATES)):
            if kinds >> number & 1:
                yield Standing(position, str(_STATES[number // 4]), bool(number & 2), not number & 1)


def stages_of(stages: str | None) -> Iterator[tuple[int, str]]:
    """Position and status of each stage."""
    for one in (stages or "").split():
        position, _, status = one.partition(":")
        yield int(position), status


def _pairs(jobs: str | None) -> Iterator[tuple[int, int]]:
    for position, kinds in stages_of(jobs):
        yield position, int(kinds)
