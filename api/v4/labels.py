"""Labels of projects and of groups: the same routes below both."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from api.deps import ServicesDep
from api.v4.encoded_paths import decoded
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.planning_access import GroupPlanningDep, PlanningAccess, ProjectPlanningDep
from domain.errors import Forbidden, Invalid
from domain.labels import checked_name, color_of, text_color
from models.columns import Record
from models.repositories import labels
from models.repositories.paging import slice_of

router = APIRouter()

_MOST_DESCRIPTION: Final = 10_000
_Priority = Annotated[int | None, Field(default=None, ge=0, le=2**31 - 1)]
_Description = Annotated[str | None, Field(default=None, max_length=_MOST_DESCRIPTION)]


class NewLabel(Optionals):
    """Parameters of `POST`."""

    name: str
    color: str
    description: _Description
    priority: _Priority


class LabelChanges(Optionals):
    """Parameters of `PUT`; what is not given stays. `name` names the label where the path does not."""

    name: str = ""
    new_name: str | None = None
    color: str | None = None
    description: _Description
    priority: _Priority

    def columns(self) -> dict[str, Any]:
        """The columns to write. Raises `Invalid`."""
        wanted = {
            "name": None if self.new_name is None else checked_name(self.new_name),
            "color": None if self.color is None else color_of(self.color),
            "description": self.description,
            "priority": self.priority,
        }
        found = {name: value for name, value in wanted.items() if value is not None}
        if not found:
            raise Invalid("new_name, color, description, priority are missing, at least one parameter must be provided")
        return found


ChangesDep = Annotated[LabelChanges, Depends(given(LabelChanges))]


def _shown(row: Record) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "color": row.color,
        "text_color": text_color(row.color),
        "description": row.description or None,
        "description_html": row.description,
        "subscribed": False,
        "priority": row.priority,
        "is_project_label": row.project_id is not None,
        "archived": False,
    }


async def _list(
    planning: PlanningAccess,
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    with_counts: bool = False,
    include_ancestor_groups: bool = True,
) -> JSONResponse:
    statement = labels.listed(planning.owner, search, ancestors=include_ancestor_groups)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
        found = [_shown(row) for row in page.rows]
        for document in found if with_counts else ():
            number = await labels.open_requests(connection, planning.owner, document["name"])
            counts = {"open_issues_count": 0, "closed_issues_count": 0, "open_merge_requests_count": number}
            document.update(counts)
    return paging.answer(found, page.total)


async def _create(planning: PlanningAccess, services: ServicesDep, new: NewLabel) -> dict[str, Any]:
    planning.require_change()
    values = {"name": checked_name(new.name), "color": color_of(new.color), "description": new.description or ""}
    async with services.database.write() as connection:
        return _shown(await labels.add(connection, planning.owner, services.clock(), priority=new.priority, **values))


async def _get(planning: PlanningAccess, services: ServicesDep, reference: str) -> dict[str, Any]:
    async with services.database.read() as connection:
        return _shown(await labels.find(connection, planning.owner, decoded(reference)))


async def _change(
    planning: PlanningAccess, services: ServicesDep, reference: str, changes: LabelChanges
) -> dict[str, Any]:
    planning.require_change()
    if not reference:
        raise Invalid("name is missing")
    values = changes.columns()
    async with services.database.write() as connection:
        row = await labels.find(connection, planning.owner, reference)
        _require_own(planning, row)
        return _shown(await labels.change(connection, planning.owner, row, services.clock(), **values))


async def _remove(planning: PlanningAccess, services: ServicesDep, reference: str) -> Response:
    planning.require_change()
    async with services.database.write() as connection:
        row = await labels.find(connection, planning.owner, reference)
        _require_own(planning, row)
        await labels.remove(connection, planning.owner, row)
    return Response(status_code=204)


def _require_own(planning: PlanningAccess, row: Record) -> None:
    if (row.project_id, row.namespace_id) != (planning.owner.project_id, planning.owner.namespace_id):
        raise Forbidden(f"403 Forbidden: {row.name} is the label of a group around it; change it there.")


@router.get("/projects/{project}/labels")
async def list_of_project(
    planning: ProjectPlanningDep,
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    with_counts: bool = False,
    include_ancestor_groups: bool = True,
) -> JSONResponse:
    """The labels of a project and of the groups around it, by name."""
    return await _list(planning, services, paging, search, with_counts, include_ancestor_groups)


@router.get("/groups/{group}/labels")
async def list_of_group(
    planning: GroupPlanningDep,
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    with_counts: bool = False,
    include_ancestor_groups: bool = True,
) -> JSONResponse:
    """The labels of a group and of the groups around it, by name."""
    return await _list(planning, services, paging, search, with_counts, include_ancestor_groups)


@router.post("/projects/{project}/labels", status_code=201)
async def create_in_project(
    new: Annotated[NewLabel, Depends(given(NewLabel))], planning: ProjectPlanningDep, services: ServicesDep
) -> dict[str, Any]:
    """Add a label to a project, as a reporter. Answers 409 when there is one of that name."""
    return await _create(planning, services, new)


@router.post("/groups/{group}/labels", status_code=201)
async def create_in_group(
    new: Annotated[NewLabel, Depends(given(NewLabel))], planning: GroupPlanningDep, services: ServicesDep
) -> dict[str, Any]:
    """Add a label to a group and all that lies in it, as a reporter."""
    return await _create(planning, services, new)


@router.get("/projects/{project}/labels/{label_id}")
async def get_of_project(label_id: str, planning: ProjectPlanningDep, services: ServicesDep) -> dict[str, Any]:
    """One label, by id or name."""
    return await _get(planning, services, label_id)


@router.get("/groups/{group}/labels/{label_id}")
async def get_of_group(label_id: str, planning: GroupPlanningDep, services: ServicesDep) -> dict[str, Any]:
    """One label, by id or name."""
    return await _get(planning, services, label_id)


@router.put("/projects/{project}/labels/{label_id}")
async def change_in_project(
    label_id: str, changes: ChangesDep, planning: ProjectPlanningDep, services: ServicesDep
) -> dict[str, Any]:
    """Change a label; merge requests follow its name."""
    return await _change(planning, services, decoded(label_id), changes)


@router.put("/groups/{group}/labels/{label_id}")
async def change_in_group(
    label_id: str, changes: ChangesDep, planning: GroupPlanningDep, services: ServicesDep
) -> dict[str, Any]:
    """Change a label; merge requests follow its name."""
    return await _change(planning, services, decoded(label_id), changes)


@router.put("/projects/{project}/labels")
async def change_by_name_in_project(
    changes: ChangesDep, planning: ProjectPlanningDep, services: ServicesDep
) -> dict[str, Any]:
    """The same, by `name`."""
    return await _change(planning, services, changes.name, changes)


@router.put("/groups/{group}/labels")
async def change_by_name_in_group(
    changes: ChangesDep, planning: GroupPlanningDep, services: ServicesDep
) -> dict[str, Any]:
    """The same, by `name`."""
    return await _change(planning, services, changes.name, changes)


@router.delete("/projects/{project}/labels/{label_id}", status_code=204)
async def remove_from_project(label_id: str, planning: ProjectPlanningDep, services: ServicesDep) -> Response:
    """Remove a label, from merge requests too."""
    return await _remove(planning, services, decoded(label_id))


@router.delete("/groups/{group}/labels/{label_id}", status_code=204)
async def remove_from_group(label_id: str, planning: GroupPlanningDep, services: ServicesDep) -> Response:
    """Remove a label, from merge requests too."""
    return await _remove(planning, services, decoded(label_id))
