"""Approvals of merge requests as GitLab's JSON."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from typing_extensions import TypedDict

from api.v4.representation.merge_requests import Around, MergeRequestHeadResponse, head
from api.v4.representation.people import Person, PersonResponse, person
from domain.moments import moment
from models.rows.merge_requests import MergeRequestRow
from models.rows.projects import ProjectRow


class ApprovalResponse(TypedDict):
    """Who approved, and when."""

    user: PersonResponse
    approved_at: str


class ApprovalsResponse(MergeRequestHeadResponse):
    """Who approved a merge request, and how many are still needed."""

    merge_status: str
    approved: bool
    approvals_required: int
    approvals_left: int
    require_password_to_approve: bool
    approved_by: list[ApprovalResponse]
    suggested_approvers: list[PersonResponse]
    approvers: list[PersonResponse]
    approver_groups: list[dict[str, Any]]
    approval_rules_left: list[dict[str, Any]]
    has_approval_rules: bool
    multiple_approval_rules_available: bool
    merge_request_approvers_available: bool


class ApprovalRuleResponse(TypedDict):
    """How many approvals are needed; the rules here name nobody."""

    id: int
    name: str
    rule_type: str
    report_type: str | None
    eligible_approvers: list[PersonResponse]
    approvals_required: int
    users: list[PersonResponse]
    groups: list[dict[str, Any]]
    contains_hidden_groups: bool


class Approver(Person, Protocol):
    """An account that approved."""

    @property
    def approved_at(self) -> datetime:
        """When it did."""


def approvals(
    row: MergeRequestRow, around: Around, approved_by: Sequence[Approver], required: int, counted: int
) -> ApprovalsResponse:
    """Who approved a merge request; `counted` of them count."""
    left = max(0, required - counted)
    return {
        **head(row),
        "merge_status": row.merge_status,
        "approved": left == 0 and (bool(approved_by) or required > 0 or counted > 0),
        "approvals_required": required,
        "approvals_left": left,
        "require_password_to_approve": False,
        "approved_by": [
            {"user": person(one, around.url), "approved_at": moment(one.approved_at)} for one in approved_by
        ],
        "suggested_approvers": [],
        "approvers": [],
        "approver_groups": [],
        "approval_rules_left": [],
        "has_approval_rules": False,
        "multiple_approval_rules_available": False,
        "merge_request_approvers_available": True,
    }


def any_approver_rule(project: ProjectRow) -> ApprovalRuleResponse:
    """The one rule that there is: so many approvals, of whomever. Its id is the project's."""
    return {
        "id": project.id,
        "name": "All Members",
        "rule_type": "any_approver",
        "report_type": None,
        "eligible_approvers": [],
        "approvals_required": project.approvals_required,
        "users": [],
        "groups": [],
        "contains_hidden_groups": False,
    }
