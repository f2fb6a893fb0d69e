"""Lists of runners: GitLab's parameters for them, and the page that they make."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, Field

from api.services import Services
from api.v4.pagination import Paging
from api.v4.parameters import given
from api.v4.representation.runners import ListedRunnerResponse, runner
from application.runners.parameters import Tags, Words
from domain.runners.matching import RunnerType
from domain.runners.status import Connection, Holds
from models.repositories import database_time
from models.repositories.paging import Listing, slice_of
from models.repositories.runners.runner_listings import RunnerFilter, holding, narrowed
from models.rows.runners import RunnerRow

_NARROWED_BY: Final[Mapping[str, Mapping[str, Any]]] = {
    "": {},
    "active": {"paused": False},
    "paused": {"paused": True},
    "shared": {"runner_type": RunnerType.INSTANCE},
    "specific": {"runner_type": RunnerType.PROJECT},
    **{status: {"status": status} for status in Connection},
}
"""What `status`, and `scope` of older clients, say of the runners that are wanted."""


def _known(value: str) -> str:
    if value not in _NARROWED_BY:
        raise ValueError(f"must be one of {', '.join(filter(None, _NARROWED_BY))}")
    return value


class RunnerListWishes(BaseModel):
    """Parameters of a list of runners. `organization_id` leaves those that belong to one organisation."""

    type: RunnerType | None = None
    status: Annotated[str, AfterValidator(_known)] = ""
    scope: Annotated[str, AfterValidator(_known)] = ""
    paused: bool | None = None
    tag_list: Tags = []
    version_prefix: Words = ""
    search: Words = ""
    organization_id: int | None = Field(default=None, ge=1, le=2**53)

    def filter(self) -> RunnerFilter:
        """What of the list is wanted; the newer parameter wins over the older one."""
        values: dict[str, Any] = {**_NARROWED_BY[self.scope], **_NARROWED_BY[self.status]}
        if self.type is not None:
            values["runner_type"] = self.type
        if self.paused is not None:
            values["paused"] = self.paused
        return RunnerFilter(
            **values,
            tags=tuple(self.tag_list),
            version_prefix=self.version_prefix,
            search=self.search,
            organisation_id=self.organization_id,
        )


RunnerListDep = Annotated[RunnerListWishes, Depends(given(RunnerListWishes))]


async def listed(
    services: Services, paging: Paging, statement: Listing[RunnerRow], wishes: RunnerListWishes
) -> JSONResponse:
    """One page of the runners of a statement, with their tags beside what GitLab shows."""
    async with services.database.read() as connection:
        now = await database_time.moment(connection)
        wanted = narrowed(statement, wishes.filter(), connection.dialect.name, now)
        found = await slice_of(connection, wanted, paging.number, paging.size)
        ticks = services.settings.times.ticks_until_unresponsive
        working = await holding(connection, [row.id for row in found.rows], ticks)
    shown: list[ListedRunnerResponse] = [
        {**runner(row, now, working.get(row.id, Holds.NOTHING)), "tag_list": list(row.tags)} for row in found.rows
    ]
    return paging.response(shown, found.total)
