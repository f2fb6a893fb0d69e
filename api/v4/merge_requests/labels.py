"""Labels of projects and of groups: the same routes below both."""

from typing import Annotated, Any, Final, NotRequired

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.encoded_paths import decoded
from api.v4.merge_requests.planning_access import PlanningAccess, planning_of_group, planning_of_project
from api.v4.owned_routes import mounted, of_owner
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from domain.errors import Invalid, NotFound
from domain.projects.labels import checked_name, color_of, text_color
from models.repositories.paging import slice_of
from models.repositories.projects import labels
from models.rows.labels import LabelRow

_MAX_DESCRIPTION: Final = 10_000
_Priority = Annotated[int | None, Field(default=None, ge=0, le=2**31 - 1)]
_Description = Annotated[str | None, Field(default=None, max_length=_MAX_DESCRIPTION)]


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


NewDep = Annotated[NewLabel, Depends(given(NewLabel))]
ChangesDep = Annotated[LabelChanges, Depends(given(LabelChanges))]


class LabelResponse(TypedDict):
    """A label of a project or a group; the numbers of what has it are there if they were asked for."""

    id: int
    name: str
    color: str
    text_color: str
    description: str | None
    description_html: str
    subscribed: bool
    priority: int | None
    is_project_label: bool
    archived: bool
    open_issues_count: NotRequired[int]
    closed_issues_count: NotRequired[int]
    open_merge_requests_count: NotRequired[int]


def _shown(row: LabelRow) -> LabelResponse:
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


async def _change(planning: PlanningAccess, services: Services, reference: str, changes: LabelChanges) -> LabelResponse:
    planning.require_change()
    if not reference:
        raise Invalid("name is missing")
    values = changes.columns()
    async with services.database.write() as connection:
        row = await labels.find(connection, planning.owner, reference)
        _require_own(planning, row)
        return _shown(await labels.change(connection, planning.owner, row, services.clock(), **values))


def _require_own(planning: PlanningAccess, row: LabelRow) -> None:
    if (row.project_id, row.namespace_id) != (planning.owner.project_id, planning.owner.namespace_id):
        # As GitLab, which looks for the owner's own labels only.
        raise NotFound(f"Label Not Found: {row.name} is the label of a group around it; change it there.")


routes = RouteList()
"""The same calls for the labels of one kind of owner."""


@routes.get("", response_model=list[LabelResponse])
async def list_labels(
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    with_counts: bool = False,
    include_ancestor_groups: bool = True,
    planning: PlanningAccess = Depends(of_owner),
) -> JSONResponse:
    """The labels of a project or group and of the groups around it, by name."""
    statement = labels.listed(planning.owner, search, ancestors=include_ancestor_groups)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
        found = [_shown(row) for row in page.rows]
        for document in found if with_counts else ():
            number = await labels.open_requests(connection, planning.owner, document["name"])
            document["open_issues_count"] = document["closed_issues_count"] = 0
            document["open_merge_requests_count"] = number
    return paging.response(found, page.total)


@routes.post("", status_code=201)
async def create_label(
    new: NewDep, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> LabelResponse:
    """Add a label, as a reporter; that of a group is for all that lies in it. Answers 409 when there is one."""
    planning.require_change()
    values = {"name": checked_name(new.name), "color": color_of(new.color), "description": new.description or ""}
    async with services.database.write() as connection:
        row = await labels.add(connection, planning.owner, services.clock(), priority=new.priority, **values)
    return _shown(row)


@routes.get("/{label_id}")
async def get_label(
    label_id: str, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> LabelResponse:
    """One label, by id or name."""
    async with services.database.read() as connection:
        return _shown(await labels.find(connection, planning.owner, decoded(label_id)))


@routes.put("/{label_id}")
async def change_label(
    label_id: str, changes: ChangesDep, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> LabelResponse:
    """Change a label; merge requests follow its name."""
    return await _change(planning, services, decoded(label_id), changes)


@routes.put("")
async def change_label_by_name(
    changes: ChangesDep, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> LabelResponse:
    """The same, by `name`."""
    return await _change(planning, services, changes.name, changes)


@routes.delete("/{label_id}", status_code=204)
async def remove_label(label_id: str, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)) -> Response:
    """Remove a label, from merge requests too."""
    planning.require_change()
    async with services.database.write() as connection:
        row = await labels.find(connection, planning.owner, decoded(label_id))
        _require_own(planning, row)
        await labels.remove(connection, planning.owner, row)
    return Response(status_code=204)


router = RouteList()
router.include(mounted(routes, "/projects/{project}/labels", {of_owner: planning_of_project}))
router.include(mounted(routes, "/groups/{group}/labels", {of_owner: planning_of_group}))
