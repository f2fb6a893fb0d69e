"""The badges that are pictures: a ref's pipeline and coverage, the latest release. GitLab: "Badges".

Whoever may see the pipelines of a project may see them.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Query
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.projects.badge_picture import MAX_KEY, MAX_KEY_WIDTH, MAX_VALUE_WIDTH, picture
from api.routes import RouteList
from application.pipelines.refs import pipelines_of_ref
from domain.errors import NotFound
from domain.pipelines.status import Status
from domain.projects.badges import Thresholds, said_of_coverage, said_of_release, said_of_status
from models.repositories.artifacts import releases
from models.repositories.logs import coverage
from models.repositories.projects.listings import latest_pipeline

router = RouteList(prefix=PREFIX)

_VALUE_WIDTH: Final = 58
_PIPELINE, _COVERAGE, _RELEASE = 62, 62, 90
"""Widths of the left half, in pixels."""
_Percent = Annotated[float, Query(ge=0, le=100)]


@dataclass(frozen=True, slots=True)
class Look:
    """How a picture is to look."""

    key_text: str
    key_width: int | None
    style: str

    def key(self, usual: str) -> str:
        """The text of the left half."""
        return self.key_text if 0 < len(self.key_text) <= MAX_KEY else usual


async def look_of(
    key_text: str = "",
    key_width: Annotated[int | None, Query(ge=1, le=MAX_KEY_WIDTH)] = None,
    style: str = "flat",
) -> Look:
    """How a picture is to look; an unknown style is `flat`, as in GitLab."""
    return Look(key_text, key_width, style)


LookDep = Annotated[Look, Depends(look_of)]


@router.get("/badges/{ref:path}/pipeline.svg")
@router.get("/-/badges/{ref:path}/pipeline.svg")
async def pipeline_badge(
    ref: str, project: PageProjectDep, services: ServicesDep, look: LookDep, ignore_skipped: bool = False
) -> Response:
    """The status of the newest pipeline of a ref, with `ignore_skipped` of the newest that was not skipped."""
    wanted = await pipelines_of_ref(services.repositories, project.row.id, ref)
    async with services.database.read() as connection:
        left_out = [Status.SKIPPED] if ignore_skipped else []
        row = await latest_pipeline(connection, project.row.id, wanted, left_out)
    said = said_of_status(None if row is None else row.status)
    return picture(look.key("pipeline"), said, look.key_width or _PIPELINE, _VALUE_WIDTH, look.style)


@router.get("/badges/{ref:path}/coverage.svg")
@router.get("/-/badges/{ref:path}/coverage.svg")
async def coverage_badge(
    ref: str,
    project: PageProjectDep,
    services: ServicesDep,
    look: LookDep,
    job: str = "",
    min_good: _Percent = 95,
    min_acceptable: _Percent = 90,
    min_medium: _Percent = 75,
) -> Response:
    """The coverage of the newest successful pipeline of a ref, or that of its job of a name."""
    wanted = await pipelines_of_ref(services.repositories, project.row.id, ref, status=Status.SUCCESS)
    async with services.database.read() as connection:
        row = await latest_pipeline(connection, project.row.id, wanted)
        found = [] if row is None else await coverage.of_pipeline(connection, row.id, job)
    least = Thresholds(min_good, min_acceptable, min_medium)
    said = said_of_coverage(sum(found) / len(found) if found else None, least)
    return picture(look.key("coverage"), said, look.key_width or _COVERAGE, _VALUE_WIDTH, look.style)


@router.get("/-/badges/release.svg")
async def release_badge(
    project: PageProjectDep,
    services: ServicesDep,
    look: LookDep,
    value_width: Annotated[int | None, Query(ge=1, le=MAX_VALUE_WIDTH)] = None,
) -> Response:
    """The tag of the release that was released last."""
    async with services.database.read() as connection:
        try:
            tag = (await releases.latest(connection, project.row.id, services.clock())).tag
        except NotFound:
            tag = None
    widths = look.key_width or _RELEASE, value_width or _VALUE_WIDTH
    return picture(look.key("Latest Release"), said_of_release(tag), *widths, look.style)
