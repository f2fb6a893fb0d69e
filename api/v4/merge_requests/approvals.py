"""Approvals of merge requests, and how many a project asks for."""

from typing import Annotated

from fastapi import Depends
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import ProjectDep
from api.v4.merge_requests.access import MergeRequestAccess, MergeRequestDep, again, surrounded
from api.v4.merge_requests.approval_rules import RequestRuleResponse, rule_of_request
from api.v4.merge_requests.merging import check_sha
from api.v4.parameters import Optionals, given
from api.v4.projects.documents import project_row
from api.v4.representation.approvals import ApprovalsResponse
from api.v4.representation.approvals import approvals as shown_approvals
from api.v4.representation.people import PersonResponse, person
from application.audit import record
from application.merge_requests import news
from application.merge_requests.news import Cause
from application.merge_requests.standing import counted, missing
from application.merge_requests.telling import tell
from auth.permissions import Action
from domain.errors import Forbidden, NotAllowed, NotFound, Refused, Unauthenticated
from domain.merge_requests.merge_request import State
from domain.merge_requests.news import of_approval, of_withdrawal
from models.notifications import MERGES
from models.repositories.installation.audit import Happened
from models.repositories.merge_requests import merge_requests
from models.repositories.projects import projects
from models.rows.projects import ProjectRow

router = RouteList(prefix="/projects/{project}")


class Approving(Optionals):
    """Parameters of `POST .../approve`."""

    sha: str = ""


class ApprovalSettings(Optionals):
    """Parameters of `POST /projects/:id/approvals`; what is not given stays as it is."""

    approvals_before_merge: int | None = Field(default=None, ge=0, le=100)
    reset_approvals_on_push: bool | None = None
    merge_requests_author_approval: bool | None = None


class CallersApprovalsResponse(ApprovalsResponse):
    """Who approved a merge request, and whether the caller did or may."""

    user_has_approved: bool
    user_can_approve: bool


class ApprovalSettingsResponse(TypedDict):
    """How many approvals a project asks for, and which count."""

    approvals_before_merge: int
    reset_approvals_on_push: bool
    merge_requests_author_approval: bool
    merge_requests_disable_committers_approval: bool
    disable_overriding_approvers_per_merge_request: bool


class RuleStateResponse(RequestRuleResponse):
    """A rule of a merge request, and whether it is met."""

    approved: bool
    approved_by: list[PersonResponse]


class ApprovalStateResponse(TypedDict):
    """The rules of a merge request, and whether they are met."""

    approval_rules_overwritten: bool
    rules: list[RuleStateResponse]


async def _shown(services: Services, found: MergeRequestAccess) -> CallersApprovalsResponse:
    fresh = await again(services, found)
    async with services.database.read() as connection:
        approved_by = await merge_requests.approvals(connection, fresh.row.id)
    required = fresh.here.target.approvals_required
    number = len(counted(fresh.here, approved_by))
    caller = found.project.caller
    mine = any(person.id == caller.user_id for person in approved_by)
    return {
        **shown_approvals(fresh.row, await surrounded(services, [fresh.row]), approved_by, required, number),
        "user_has_approved": mine,
        "user_can_approve": not mine and may_approve(fresh),
    }


def may_approve(found: MergeRequestAccess) -> bool:
    """Developers may; the author only where the project says so, or asks for no approval."""
    try:
        found.project.require(Action.PUSH)
    except (NotFound, Forbidden, Unauthenticated):
        return False
    target = found.here.target
    is_author = found.project.caller.user_id == found.row.author_id
    return not is_author or target.author_approval or not target.approvals_required


@router.get("/merge_requests/{iid}/approvals")
async def get_approvals(found: MergeRequestDep, services: ServicesDep) -> CallersApprovalsResponse:
    """Who has approved a merge request, and how many are still needed."""
    return await _shown(services, found)


@router.post("/merge_requests/{iid}/approve", status_code=201)
async def approve(
    asked: Annotated[Approving, Depends(given(Approving))], found: MergeRequestDep, services: ServicesDep
) -> CallersApprovalsResponse:
    """Approve it. Answers 401 to those who may not, or have already, 409 when `sha` is not its head."""
    found.project.require(Action.PUSH)
    if not may_approve(found):
        raise Unauthenticated("Unauthorized")
    if found.row.state != State.OPENED:
        raise NotAllowed("Method Not Allowed")
    check_sha(found, asked.sha)
    now, user_id = services.clock(), found.project.caller.user_id
    async with services.database.write() as connection:
        row = await merge_requests.lock(connection, found.row.id)
        if row is None or row.head_sha != found.row.head_sha:
            raise Refused("SHA does not match HEAD of source branch: it has changed meanwhile")
        if not await merge_requests.approve(connection, found.row.id, user_id, now):
            raise Unauthenticated("Unauthorized")
        is_enough = not missing(found.here, await merge_requests.approvals(connection, row.id))
        await news.note(services, connection, row, of_approval(is_enough=is_enough), Cause(user_id), now)
    await services.notifications.notify(MERGES)
    await tell(services, found.row.id, found.row.project_id)
    return await _shown(services, found)


@router.post("/merge_requests/{iid}/unapprove", status_code=201)
async def unapprove(found: MergeRequestDep, services: ServicesDep) -> CallersApprovalsResponse:
    """Take the caller's approval back. Answers 404 when there is none."""
    found.project.require(Action.PUSH)
    user_id = found.project.caller.user_id
    async with services.database.write() as connection:
        before = await merge_requests.approvals(connection, found.row.id)
        if not await merge_requests.unapprove(connection, found.row.id, user_id):
            raise NotFound("Not Found")
        told = of_withdrawal(was_enough=not missing(found.here, before))
        await news.note(services, connection, found.row, told, Cause(user_id), services.clock())
    await tell(services, found.row.id, found.row.project_id)
    return await _shown(services, found)


@router.get("/approvals")
async def get_settings(project: ProjectDep) -> ApprovalSettingsResponse:
    """How many approvals a project asks for."""
    return _settings(project.row)


@router.post("/approvals", status_code=201)
async def change_settings(
    changes: Annotated[ApprovalSettings, Depends(given(ApprovalSettings))], project: ProjectDep, services: ServicesDep
) -> ApprovalSettingsResponse:
    """Change how many approvals a project asks for; maintainers may."""
    project.require(Action.ADMINISTER)
    wanted = {
        "approvals_required": changes.approvals_before_merge,
        "reset_approvals": changes.reset_approvals_on_push,
        "author_approval": changes.merge_requests_author_approval,
    }
    values = {name: value for name, value in wanted.items() if value is not None}
    async with services.database.write() as connection:
        if values:
            await projects.change(connection, project.row.id, **values)
            happened = Happened("project_approvals_changed", values)
            await record(connection, project.caller, project.entity, happened, services.clock())
        row = await project_row(connection, project.row.id)
    return _settings(row)


@router.get("/merge_requests/{iid}/approval_state")
async def get_approval_state(found: MergeRequestDep, services: ServicesDep) -> ApprovalStateResponse:
    """The rules that a merge request has to meet, who has approved by them, and whether that is enough."""
    async with services.database.read() as connection:
        approved_by = counted(found.here, await merge_requests.approvals(connection, found.row.id))
    required = found.here.target.approvals_required
    rule: RuleStateResponse = {
        **rule_of_request(found.here.target),
        "approved": len(approved_by) >= required,
        "approved_by": [person(one, services.settings.url) for one in approved_by],
    }
    return {"approval_rules_overwritten": False, "rules": [rule]}


def _settings(row: ProjectRow) -> ApprovalSettingsResponse:
    return {
        "approvals_before_merge": row.approvals_required,
        "reset_approvals_on_push": row.reset_approvals,
        "merge_requests_author_approval": row.author_approval,
        "merge_requests_disable_committers_approval": False,
        "disable_overriding_approvers_per_merge_request": True,
    }
