"""Issues: none are kept. Clients that look for theirs find none, as in a project of GitLab without them."""

from typing import Any, Final

from fastapi import Depends
from fastapi.responses import JSONResponse

from api.routes import RouteList
from api.v4.access import known_caller, project_of
from api.v4.namespaces.groups import group_of
from api.v4.pagination import PagingDep
from domain.errors import Forbidden

router = RouteList()

NO_ISSUES: Final = (
    "Forbidden: issues are not part of Perdure; keep them elsewhere. Projects say so: `issues_enabled` is false."
)


@router.get("/issues", response_model=list[dict[str, Any]], dependencies=[Depends(known_caller)])
async def list_own_issues(paging: PagingDep) -> JSONResponse:
    """The issues of the caller: none."""
    return paging.response([], 0)


@router.get("/projects/{project}/issues", response_model=list[dict[str, Any]], dependencies=[Depends(project_of)])
async def list_issues_of_project(paging: PagingDep) -> JSONResponse:
    """The issues of a project: none."""
    return paging.response([], 0)


@router.get("/groups/{group}/issues", response_model=list[dict[str, Any]], dependencies=[Depends(group_of)])
async def list_issues_of_group(paging: PagingDep) -> JSONResponse:
    """The issues of a group: none."""
    return paging.response([], 0)


@router.post("/projects/{project}/issues", status_code=201, dependencies=[Depends(known_caller), Depends(project_of)])
async def create_issue() -> dict[str, Any]:
    """Refused, as in a project of GitLab whose issues are switched off."""
    raise Forbidden(NO_ISSUES)
