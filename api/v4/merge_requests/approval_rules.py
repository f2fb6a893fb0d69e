"""Approval rules: how many approvals a project asks for, as the rule of any approver that GitLab has for it.

Rules that name people, groups or branches are refused: nothing here would hold a merge back for them.
"""

from typing import Annotated, Any, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.merge_requests.access import MergeRequestAccess, MergeRequestDep
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.projects.documents import project_row
from api.v4.representation.approvals import ApprovalRuleResponse, any_approver_rule
from application.access import ProjectAccess
from application.audit import record
from auth.permissions import Action
from domain.errors import FieldsInvalid, Forbidden, NotFound
from models.repositories.installation.audit import Happened
from models.repositories.projects import projects
from models.rows.projects import ProjectRow

router = RouteList(prefix="/projects/{project}")

_NAMED = "a rule is for any approver here: one that names {} would not be enforced. Leave {} out."
_Ids = Annotated[list[int], Field(default_factory=list)]
_Names = Annotated[list[str], Field(default_factory=list)]


class Rule(Optionals):
    """Parameters of a rule; what would not be enforced is refused by name."""

    name: str | None = None
    rule_type: Literal["any_approver", "regular", "code_owner", "report_approver"] | None = None
    user_ids: _Ids
    group_ids: _Ids
    usernames: _Names
    protected_branch_ids: _Ids
    applies_to_all_protected_branches: bool = False

    def require_enforceable(self) -> None:
        """Raise `Invalid` for a rule that says more than how many approvals are needed."""
        for name in ("user_ids", "group_ids", "usernames", "protected_branch_ids", "applies_to_all_protected_branches"):
            if getattr(self, name):
                raise FieldsInvalid(**{name: f"is invalid: {_NAMED.format(name, name)}"})
        if self.rule_type not in {None, "any_approver"}:
            raise FieldsInvalid(
                rule_type=f"is invalid: {self.rule_type} is not enforced; the type here is any_approver."
            )


class NewRule(Rule):
    """Parameters of `POST`."""

    name: str
    approvals_required: int = Field(ge=0, le=100)


class RuleChanges(Rule):
    """Parameters of `PUT`."""

    approvals_required: int | None = Field(default=None, ge=0, le=100)


class ProjectRuleResponse(ApprovalRuleResponse):
    """A rule of a project; it is for all branches."""

    protected_branches: list[dict[str, Any]]
    applies_to_all_protected_branches: bool


class RequestRuleResponse(ApprovalRuleResponse):
    """A rule of a merge request: its project's, as it is there."""

    source_rule: dict[str, Any] | None
    overridden: bool


async def rule_of(rule_id: Id, project: ProjectDep) -> ProjectAccess:
    """The project whose rule a path names. Raises `NotFound`."""
    if rule_id != project.row.id:
        raise NotFound("Not Found")
    return project


RuleDep = Annotated[ProjectAccess, Depends(rule_of)]


@router.get("/approval_rules", response_model=list[ProjectRuleResponse])
async def list_rules(project: ProjectDep, paging: PagingDep) -> JSONResponse:
    """The rules of a project: one, which asks for no approval as long as its number is 0."""
    return paging.response(paging.of([_shown(project.row)]), 1)


@router.get("/approval_rules/{rule_id}")
async def get_rule(project: RuleDep) -> ProjectRuleResponse:
    """One rule of a project."""
    return _shown(project.row)


@router.post("/approval_rules", status_code=201)
async def create_rule(
    new: Annotated[NewRule, Depends(given(NewRule))], project: ProjectDep, services: ServicesDep
) -> ProjectRuleResponse:
    """Ask for approvals, as a maintainer. Answers 400 where that is done already, as in GitLab."""
    project.require(Action.ADMINISTER)
    new.require_enforceable()
    if project.row.approvals_required:
        raise FieldsInvalid(rule_type="any-approver for the project already exists")
    return await _set(services, project, new.approvals_required)


@router.put("/approval_rules/{rule_id}")
async def change_rule(
    changes: Annotated[RuleChanges, Depends(given(RuleChanges))], project: RuleDep, services: ServicesDep
) -> ProjectRuleResponse:
    """Ask for another number of approvals, as a maintainer."""
    project.require(Action.ADMINISTER)
    changes.require_enforceable()
    if changes.approvals_required is None:
        return _shown(project.row)
    return await _set(services, project, changes.approvals_required)


@router.delete("/approval_rules/{rule_id}", status_code=204)
async def remove_rule(project: RuleDep, services: ServicesDep) -> Response:
    """Ask for no approvals any more, as a maintainer."""
    project.require(Action.ADMINISTER)
    await _set(services, project, 0)
    return Response(status_code=204)


async def _set(services: Services, project: ProjectAccess, number: int) -> ProjectRuleResponse:
    async with services.database.write() as connection:
        await _write(services, connection, project, number)
        return _shown(await project_row(connection, project.row.id))


async def _write(services: Services, connection: AsyncConnection, project: ProjectAccess, number: int) -> None:
    values = {"approvals_required": number}
    await projects.change(connection, project.row.id, **values)
    happened = Happened("project_approvals_changed", values)
    await record(connection, project.caller, project.entity, happened, services.clock())


def _shown(row: ProjectRow) -> ProjectRuleResponse:
    return {**any_approver_rule(row), "protected_branches": [], "applies_to_all_protected_branches": False}


@router.get("/merge_requests/{iid}/approval_rules", response_model=list[RequestRuleResponse])
async def list_rules_of_request(found: MergeRequestDep, paging: PagingDep) -> JSONResponse:
    """The rules of a merge request: those of its project."""
    return paging.response(paging.of([_of_request(found)]), 1)


@router.get("/merge_requests/{iid}/approval_rules/{rule_id}")
async def get_rule_of_request(rule_id: Id, found: MergeRequestDep) -> RequestRuleResponse:
    """One rule of a merge request."""
    if rule_id != found.project.row.id:
        raise NotFound("Not Found")
    return _of_request(found)


@router.post("/merge_requests/{iid}/approval_rules", status_code=201)
async def create_rule_of_request(found: MergeRequestDep) -> RequestRuleResponse:
    """Refused: rules are the project's, and merge requests cannot overrule them."""
    raise _not_overridden(found)


@router.put("/merge_requests/{iid}/approval_rules/{rule_id}")
@router.delete("/merge_requests/{iid}/approval_rules/{rule_id}")
async def change_rule_of_request(rule_id: Id, found: MergeRequestDep) -> RequestRuleResponse:
    """Refused, as `POST` is."""
    if rule_id != found.project.row.id:
        raise NotFound("Not Found")
    raise _not_overridden(found)


def _not_overridden(found: MergeRequestAccess) -> Forbidden:
    found.require_change()
    return Forbidden(
        "Forbidden: approval rules are the project's (disable_overriding_approvers_per_merge_request);"
        " change /projects/:id/approval_rules instead."
    )


def _of_request(found: MergeRequestAccess) -> RequestRuleResponse:
    return rule_of_request(found.here.target)


def rule_of_request(target: ProjectRow) -> RequestRuleResponse:
    """The rule of the merge requests of a project."""
    return {**any_approver_rule(target), "source_rule": None, "overridden": False}
