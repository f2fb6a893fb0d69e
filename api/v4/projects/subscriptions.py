"""Subscriptions of a project to others (our own shape: GitLab has them in its pages and GraphQL only).

When a pipeline of a tag of the other project succeeds, the default branch of this one gets a pipeline.
"""

from typing import Annotated

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import Id, ProjectDep
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.people import PersonResponse, person
from application.access import ProjectAccess, access_to
from application.audit import record
from application.services import Services
from application.subscriptions.elsewhere import end, follow, pod_of_upstream
from auth.permissions import Action
from domain.errors import FieldsInvalid
from domain.moments import moment
from models.repositories.accounts import accounts
from models.repositories.installation.audit import Happened
from models.repositories.paging import slice_of
from models.repositories.projects import relations, subscriptions
from models.repositories.projects.subscriptions import ListedSubscription
from models.rows.accounts import UserRow

router = RouteList(prefix="/projects/{project}/subscriptions")


class NewSubscription(BaseModel):
    """Parameters of `POST /projects/:id/subscriptions`: the other project, by id or full path."""

    upstream_project: int | str = Field(union_mode="left_to_right")


class UpstreamProjectResponse(TypedDict):
    """The project that another one follows."""

    id: int
    path_with_namespace: str


class SubscriptionResponse(TypedDict):
    """That a project follows another one; its pipelines are the author's."""

    id: int
    project_id: int
    upstream_project: UpstreamProjectResponse
    author: PersonResponse
    created_at: str


def shown(row: ListedSubscription, user: UserRow, url: str) -> SubscriptionResponse:
    """A subscription."""
    return {
        "id": row.id,
        "project_id": row.project_id,
        "upstream_project": {"id": row.upstream_project_id, "path_with_namespace": row.upstream_path},
        "author": person(user, url),
        "created_at": moment(row.created_at),
    }


@router.get("", response_model=list[SubscriptionResponse])
async def list_subscriptions(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The subscriptions of a project; maintainers may see them."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        found = await slice_of(connection, subscriptions.of_project(project.row.id), paging.number, paging.size)
        users = await relations.users(connection, (row.user_id for row in found.rows))
    return paging.response([shown(row, users[row.user_id], services.settings.url) for row in found.rows], found.total)


@router.post("", status_code=201)
async def subscribe(
    new: Annotated[NewSubscription, Depends(given(NewSubscription))], project: ProjectDep, services: ServicesDep
) -> SubscriptionResponse:
    """Follow a project that the caller may read; the pipelines will be the caller's."""
    project.require(Action.ADMINISTER)
    upstream_id, path, path_elsewhere = await _upstream(services, project, new.upstream_project)
    now, caller = services.clock(), project.caller
    async with services.database.write() as connection:
        key = await subscriptions.add(connection, project.row.id, upstream_id, caller.user_id, now, path_elsewhere)
        happened = Happened("subscription_created", {"upstream_project": path})
        await record(connection, caller, project.entity, happened, now)
        row = await subscriptions.get(connection, key, project.row.id)
        return shown(row, await accounts.get(connection, caller.user_id), services.settings.url)


async def _upstream(services: Services, project: ProjectAccess, named: int | str) -> tuple[int, str, str]:
    """The project to follow: its id and path, and the path once more if another pod has it and knows of it by now."""
    pod = pod_of_upstream(services, named)
    if pod is not None and services.cluster is not None:
        async with services.database.read() as connection:
            await subscriptions.require_room(connection, project.row.id)
        found = await follow(services, services.cluster, pod, project, named)
        return found.id, found.full_path, found.full_path
    upstream = await access_to(services, project.caller, named)
    if upstream.row.id == project.row.id:
        raise FieldsInvalid(upstream_project="is invalid: a project cannot follow itself.")
    return upstream.row.id, upstream.row.full_path, ""


@router.delete("/{subscription_id}", status_code=204)
async def unsubscribe(subscription_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Follow no more."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        row = await subscriptions.get(connection, subscription_id, project.row.id)
        await subscriptions.remove(connection, subscription_id)
        happened = Happened("subscription_removed", {"upstream_project": row.upstream_path})
        await record(connection, project.caller, project.entity, happened, services.clock())
    if services.cluster is not None:
        await end(services, services.cluster, row)
    return Response(status_code=204)
