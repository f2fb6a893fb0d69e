"""Everything that the page of a merge request shows, as it is now and as one caller may see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.pages.merge_requests.reports import ReportReader, ShownReports
from api.services import Services
from api.v4.merge_requests.access import MergeRequestAccess, may_merge, merge_request_of, pipeline_project
from api.v4.merge_requests.approvals import may_approve
from application.access import ProjectAccess, access_to
from application.merge_requests.drift import Drift, drift_of
from application.merge_requests.standing import assess, counted
from application.merge_requests.wishes import require_change
from auth.permissions import Action
from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.merge_requests.merge_request import OF_CI, Blocker, State, blockers, is_draft, squashes
from domain.pipelines.shown_status import WARNING, Shown, shown_as
from models.repositories.merge_requests import merge_request_overviews, trains
from models.repositories.merge_requests.standings import Assessment
from models.repositories.merge_requests.trains import WaitingCarRow
from models.repositories.pipelines import pipelines
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.merge_requests import MergeRequestRow
from models.rows.pipelines import PipelineRow, StageRow
from models.rows.projects import ProjectRow

_WAITED_FOR: Final = OF_CI | {Blocker.DRAFT, Blocker.NOT_APPROVED, Blocker.NOT_RESOLVED}
"""What a merge by itself waits for."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What the caller may do with a merge request."""

    change: bool
    merge: bool
    approve: bool
    run: bool
    note: bool
    push: bool


@dataclass(frozen=True, slots=True)
class ShownCar:
    """A car of the train that a merge request is on, with that one."""

    car: WaitingCarRow
    row: MergeRequestRow

    @property
    def pipeline(self) -> Shown | None:
        """How its pipeline is shown, None if there is none."""
        if self.car.pipeline_id is None or self.car.pipeline_status is None:
            return None
        return shown_as(WARNING if self.car.pipeline_warned else self.car.pipeline_status)


@dataclass(frozen=True, slots=True)
class Look:
    """A merge request with what is around it. `pipeline` is there only if the caller may see it."""

    found: MergeRequestAccess
    assessment: Assessment
    in_the_way: Sequence[Blocker]
    people: Mapping[int, UserRow]
    may: Rights
    pipeline: PipelineRow | None
    pipeline_project: ProjectRow | None
    stages: Sequence[StageRow]
    reports: ShownReports | None
    drift: Drift | None
    train: Sequence[ShownCar]

    @property
    def row(self) -> MergeRequestRow:
        """Its row."""
        return self.found.row

    @property
    def is_open(self) -> bool:
        """Whether it is open and not being merged."""
        return self.row.state == State.OPENED

    @property
    def is_draft(self) -> bool:
        """Whether it is a draft."""
        return is_draft(self.row.title)

    @property
    def position(self) -> int:
        """Its place on the train from 1; 0 if it is on none."""
        places = (at for at, one in enumerate(self.train, 1) if one.row.id == self.row.id)
        return next(places, 0)

    @property
    def can_merge(self) -> bool:
        """Whether the caller may merge it at once."""
        return self.is_open and self.may.merge and not self.in_the_way and not self.position

    @property
    def can_wait(self) -> bool:
        """Whether the caller may have it merged as soon as what is waited for is there."""
        waits = self.assessment.standing.is_running or bool(self.in_the_way)
        return self.is_open and self.may.merge and waits and not self.row.auto_merge and not self._is_stuck

    @property
    def _is_stuck(self) -> bool:
        """Whether something is in its way that no waiting ends, or it is on its train."""
        return bool(frozenset(self.in_the_way) - _WAITED_FOR) or bool(self.position)

    @property
    def squashes(self) -> bool:
        """Whether its commits become one, if nobody says otherwise."""
        return squashes(self.found.here.target.squash_option, self.row.squash)

    @property
    def approvals_counted(self) -> int:
        """How many of its approvals count."""
        return len(counted(self.found.here, self.assessment.approvals))

    @property
    def approved_by_caller(self) -> bool:
        """Whether the caller has approved it."""
        caller = self.found.project.caller
        return any(person.id == caller.user_id for person in self.assessment.approvals)


async def look_at(services: Services, project: ProjectAccess, iid: int, reader: ReportReader) -> Look:
    """The merge request as it is now, for a caller whose rights are looked up again. Raises `NotFound`."""
    fresh = await access_to(services, project.caller, project.row.id)
    found = await merge_request_of(iid, fresh, services)
    assessment = await assess(services, found.here)
    found = await merge_request_of(iid, fresh, services)
    row, pipeline = found.row, assessment.pipeline
    home = None if pipeline is None else await pipeline_project(services, found, pipeline.project_id)
    if home is None:
        pipeline = None
    async with services.database.read() as connection:
        people = await relations.users(connection, _people_of(row))
        stages = [] if pipeline is None else await pipelines.stages_of(connection, pipeline.id)
        cars = await trains.cars(connection, row.project_id, row.target_branch)
        rows = await merge_request_overviews.by_ids(connection, [car.merge_request_id for car in cars])
    on_train = any(car.merge_request_id == row.id for car in cars)
    in_the_way = () if row.state == State.MERGED else blockers(assessment.standing)
    return Look(
        found,
        assessment,
        in_the_way,
        people,
        await _rights(found),
        pipeline,
        home,
        stages,
        None if pipeline is None else await reader.read(found, pipeline),
        None if on_train or row.state != State.OPENED else await drift_of(found.here, pipeline, assessment.target_head),
        [ShownCar(car, rows[car.merge_request_id]) for car in cars if car.merge_request_id in rows] if on_train else [],
    )


def _people_of(row: MergeRequestRow) -> set[int]:
    named = {row.author_id, row.merge_user_id, row.closed_by_id, row.auto_merge_user_id}
    return {key for key in (*named, *row.assignee_ids, *row.reviewer_ids) if key is not None}


async def _rights(found: MergeRequestAccess) -> Rights:
    project, target = found.project, found.here.target
    is_live = project.caller.is_known and not target.archived
    return Rights(
        change=may_change(found),
        merge=await may_merge(found),
        approve=is_live and may_approve(found),
        run=project.may(Action.RUN),
        note=is_live,
        push=project.may(Action.PUSH),
    )


def may_change(found: MergeRequestAccess) -> bool:
    """Whether the caller may change what a merge request says."""
    try:
        require_change(found.project, found.row)
    except (Forbidden, NotFound, Unauthenticated):
        return False
    return found.project.caller.is_known and not found.here.target.archived
