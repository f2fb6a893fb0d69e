"""Merge trains: cars that are put on, built, taken off, and arrive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound, Refused
from domain.merge_requests.merge_train import ON_THE_WAY, CarStatus
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines import outbox
from models.repositories.pipelines.warnings import PIPELINE_WARNED
from models.rows.merge_requests import MergeRequestRow, TrainCarRow
from models.tables.merge_requests import ON_ITS_WAY, MergeRequest, TrainCar
from models.tables.pipelines import Pipeline
from models.typed_rows import all_of, first_of

car = table_of(TrainCar)
pipeline = table_of(Pipeline)
merge_request = table_of(MergeRequest)

_ON_THE_WAY: Final = sorted(ON_THE_WAY)
ARRIVED: Final = (CarStatus.MERGED, CarStatus.SKIP_MERGED)


async def put_on(
    connection: AsyncConnection, row: MergeRequestRow, user_id: int, options: Mapping[str, Any], now: datetime
) -> int:
    """Put a merge request at the end of its target's train. Raises `Refused` for one that is on it."""
    if await of_merge_request(connection, row.id, on_the_way=True) is not None:
        raise Refused("The merge request is on the merge train already.")
    statement = insert(car).values(
        project_id=row.project_id,
        target_branch=row.target_branch,
        merge_request_id=row.id,
        user_id=user_id,
        status=CarStatus.IDLE,
        options=dict(options),
        created_at=now,
        updated_at=now,
    )
    return int((await connection.execute(statement.returning(car.c.id))).scalar_one())


async def of_merge_request(
    connection: AsyncConnection, merge_request_id: int, *, on_the_way: bool
) -> TrainCarRow | None:
    """The newest car of a merge request, or the one that has not arrived."""
    statement = select(car).where(car.c.merge_request_id == merge_request_id).order_by(car.c.id.desc()).limit(1)
    if on_the_way:
        statement = statement.where(car.c.status.in_(_ON_THE_WAY))
    return first_of(TrainCarRow, await connection.execute(statement))


async def get(connection: AsyncConnection, merge_request_id: int) -> TrainCarRow:
    """The newest car of a merge request. Raises `NotFound`."""
    row = await of_merge_request(connection, merge_request_id, on_the_way=False)
    if row is None:
        raise NotFound("Merge Train Merge Request Not Found")
    return row


def listed(project_id: int, *, branch: str = "", scope: str = "", ascending: bool = False) -> Listing[TrainCarRow]:
    """Statement for the cars of a project: those that are on their way (`active`), or have arrived (`complete`)."""
    statement = select(car).where(car.c.project_id == project_id)
    if branch:
        statement = statement.where(car.c.target_branch == branch)
    if scope:
        statement = statement.where(car.c.status.in_(_ON_THE_WAY if scope == "active" else ARRIVED))
    return Listing(statement.order_by(car.c.id.asc() if ascending else car.c.id.desc()), TrainCarRow)


@dataclass(frozen=True, slots=True)
class TrainRow:
    """Which train: that of a branch of a project."""

    project_id: int
    target_branch: str


async def trains(connection: AsyncConnection) -> Sequence[TrainRow]:
    """Project and target branch of each train that has cars on their way."""
    statement = select(car.c.project_id, car.c.target_branch).where(text(ON_ITS_WAY)).distinct()
    return all_of(TrainRow, await connection.execute(statement.order_by(car.c.project_id, car.c.target_branch)))


@dataclass(frozen=True, slots=True)
class WaitingCarRow(TrainCarRow):
    """A car on its way, with the status of its pipeline and what its merge request is now."""

    pipeline_status: str | None
    pipeline_warned: bool
    request_state: str
    request_head: str
    request_target: str
    request_title: str


async def cars(connection: AsyncConnection, project_id: int, target_branch: str) -> Sequence[WaitingCarRow]:
    """The cars of a train in order, each with the status of its pipeline and facts of its merge request."""
    statement = (
        select(
            car,
            pipeline.c.status.label("pipeline_status"),
            PIPELINE_WARNED.label("pipeline_warned"),
            merge_request.c.state.label("request_state"),
            merge_request.c.head_sha.label("request_head"),
            merge_request.c.target_branch.label("request_target"),
            merge_request.c.title.label("request_title"),
        )
        .join(merge_request, merge_request.c.id == car.c.merge_request_id)
        .outerjoin(pipeline, pipeline.c.id == car.c.pipeline_id)
        .where(car.c.project_id == project_id, car.c.target_branch == target_branch, car.c.status.in_(_ON_THE_WAY))
        .order_by(car.c.id)
    )
    return all_of(WaitingCarRow, await connection.execute(statement))


async def change(connection: AsyncConnection, row: TrainCarRow, now: datetime, **values: Any) -> bool:
    """Write columns of a car as it was seen; false when somebody else has changed it since."""
    statement = update(car).where(car.c.id == row.id, car.c.version == row.version, car.c.status.in_(_ON_THE_WAY))
    done = await connection.execute(statement.values(version=row.version + 1, updated_at=now, **values))
    return bool(done.rowcount)


async def give_pipeline(connection: AsyncConnection, car_id: int, pipeline_id: int) -> None:
    """Note the pipeline of a car that was changed in the same transaction."""
    await connection.execute(update(car).where(car.c.id == car_id).values(pipeline_id=pipeline_id))


async def leave(connection: AsyncConnection, merge_request_id: int, now: datetime, reason: str) -> bool:
    """Take a merge request off its train and cancel its pipeline there; whether it was on one."""
    row = await of_merge_request(connection, merge_request_id, on_the_way=True)
    if row is None:
        return False
    await connection.execute(delete(car).where(car.c.id == row.id))
    await cancel(connection, row, now, f"taken off the merge train: {reason}")
    return True


async def cancel(connection: AsyncConnection, row: TrainCarRow, now: datetime, reason: str) -> None:
    """Cancel the pipeline of a car, if it has one."""
    if row.pipeline_id is not None:
        payload = {"name": "cancel_pipeline", "key": f"train-{row.id}-{row.version}", "reason": reason}
        await outbox.put(connection, outbox.COMMAND, row.pipeline_id, now, payload=payload)


async def arrive(connection: AsyncConnection, merge_request_id: int, sha: str, now: datetime) -> None:
    """The car of a merge request has arrived if `sha`, which was merged, is the car's; else it was gone round."""
    row = await of_merge_request(connection, merge_request_id, on_the_way=True)
    if row is None:
        return
    status = CarStatus.MERGED if row.sha and row.sha == sha else CarStatus.SKIP_MERGED
    values = {"status": status, "merged_at": now, "updated_at": now, "version": row.version + 1}
    await connection.execute(update(car).where(car.c.id == row.id).values(**values))
    if status is CarStatus.SKIP_MERGED:
        await cancel(connection, row, now, "the merge request was merged outside of its merge train")


async def forget(connection: AsyncConnection, merge_request_id: int) -> None:
    """Drop the cars of a merge request that is deleted."""
    await connection.execute(delete(car).where(car.c.merge_request_id == merge_request_id))
