"""Webhooks of a project: listed, read, made, changed, deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Any, Final, Literal

import httpx
from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.audit import record
from api.deps import ProjectAccess, ServicesDep
from api.hook_secrets import opened_map, sealed, sealed_map
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.hooks import hook as shown
from auth.permissions import Action
from domain.errors import Invalid
from domain.hook_requests import address_of, check_header, check_variable
from domain.hooks import BITS, FLAGS, check_branch_filter, signing_key
from models.repositories import hooks
from models.repositories.audit import Happened
from models.repositories.paging import slice_of
from outbound.addresses import public_or_within
from outbound.post import address_fault

MOST_HOOKS: Final = 100
"""Of one project; GitLab's limit."""
MOST_PAIRS: Final = 20
"""Custom headers, or variables of the address, of one hook; GitLab's limit."""

router = APIRouter(prefix="/projects/{project}/hooks")


class Pair(BaseModel):
    """A custom header or a variable of the address."""

    key: str
    value: str


class Changes(BaseModel):
    """Parameters of `PUT /projects/:id/hooks/:hook_id`; what is not given stays as it is."""

    url: str | None = None
    name: str | None = Field(default=None, max_length=255)
    description: str | None = Field(default=None, max_length=2048)
    token: str | None = Field(default=None, max_length=2048)
    signing_token: str | None = None
    push_events: bool | None = None
    tag_push_events: bool | None = None
    merge_requests_events: bool | None = None
    job_events: bool | None = None
    pipeline_events: bool | None = None
    deployment_events: bool | None = None
    releases_events: bool | None = None
    push_events_branch_filter: str | None = Field(default=None, max_length=5000)
    branch_filter_strategy: Literal["wildcard", "regex", "all_branches"] | None = None
    enable_ssl_verification: bool | None = None
    custom_headers: list[Pair] | None = Field(default=None, max_length=MOST_PAIRS)
    url_variables: list[Pair] | None = Field(default=None, max_length=MOST_PAIRS)

    def events(self, before: int) -> int:
        """The events as stored, from those that are stored now."""
        for flag, event in FLAGS.items():
            wanted = getattr(self, flag)
            if wanted is not None:
                before = before | BITS[event] if wanted else before & ~BITS[event]
        return before


class NewHook(Changes):
    """Parameters of `POST /projects/:id/hooks`. A hook hears of pushes unless it says otherwise, as in GitLab."""

    url: str
    push_events: bool | None = True


@dataclass(frozen=True, slots=True)
class HookAccess:
    """A webhook of a project that the caller administers. `row` has the columns of `models.hooks.Hook`."""

    row: Any
    project: ProjectAccess


async def hook_of(hook_id: Id, project: ProjectDep, services: ServicesDep) -> HookAccess:
    """The webhook of a path. Raises `NotFound`, `Forbidden`."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        return HookAccess(await hooks.get(connection, hook_id, project.row.id), project)


HookDep = Annotated[HookAccess, Depends(hook_of)]


def presented(services: Services, row: Any) -> dict[str, Any]:
    """A webhook as it is shown."""
    headers, variables = (opened_map(services, column) for column in (row.custom_headers, row.url_variables))
    return shown(row, headers, variables, services.clock())


@router.get("")
async def list_hooks(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The webhooks of a project."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        found = await slice_of(connection, hooks.of_project(project.row.id), paging.number, paging.size)
    return paging.answer([presented(services, row) for row in found.rows], found.total)


@router.get("/{hook_id}")
async def get_hook(hook: HookDep, services: ServicesDep) -> dict[str, Any]:
    """One webhook."""
    return presented(services, hook.row)


@router.post("", status_code=201)
async def create_hook(
    new: Annotated[NewHook, Depends(given(NewHook))], project: ProjectDep, services: ServicesDep
) -> dict[str, Any]:
    """Make a webhook."""
    project.require(Action.ADMINISTER)
    values = _values(services, new, {}, 0)
    check_url(services, new.url, _pairs(new.url_variables))
    async with services.database.write() as connection:
        if await hooks.count(connection, project.row.id) >= MOST_HOOKS:
            raise Invalid(f"Maximum number of project hooks ({MOST_HOOKS}) exceeded; delete one first.")
        made = await hooks.add(connection, project.row.id, services.clock(), **values)
        await record(
            connection, project.caller, project.entity, Happened("hook_created", {"id": made}), services.clock()
        )
        row = await hooks.get(connection, made, project.row.id)
    return presented(services, row)


@router.put("/{hook_id}")
async def change_hook(
    changes: Annotated[Changes, Depends(given(Changes))], hook: HookDep, services: ServicesDep
) -> dict[str, Any]:
    """Change a webhook. Another address forgets what is secret, unless it is given with it."""
    moves = changes.url not in {None, hook.row.url}
    variables = {} if moves else opened_map(services, hook.row.url_variables)
    values = _values(services, changes, {"strategy": hook.row.branch_filter_strategy}, hook.row.events)
    if changes.url is not None or changes.url_variables is not None:
        fresh = variables if changes.url_variables is None else _pairs(changes.url_variables)
        check_url(services, changes.url or hook.row.url, fresh)
    if moves:
        values = {**dict.fromkeys(("token", "signing_token", "custom_headers", "url_variables"), ""), **values}
    async with services.database.write() as connection:
        await hooks.change(connection, hook.row.id, hook.project.row.id, **values)
        await note(connection, services, hook, "hook_changed")
        row = await hooks.get(connection, hook.row.id, hook.project.row.id)
    return presented(services, row)


@router.delete("/{hook_id}", status_code=204)
async def delete_hook(hook: HookDep, services: ServicesDep) -> Response:
    """Delete a webhook with the log of its deliveries; what is still on its way is not delivered any more."""
    async with services.database.write() as connection:
        await hooks.remove(connection, hook.row.id, hook.project.row.id)
        await note(connection, services, hook, "hook_removed")
    return Response(status_code=204)


async def note(connection: AsyncConnection, services: Services, hook: HookAccess, name: str) -> None:
    """Write an audit event; its address may hold secrets, so only the id is in it."""
    happened = Happened(name, {"id": hook.row.id})
    await record(connection, hook.project.caller, hook.project.entity, happened, services.clock())


def check_url(services: Services, url: str, variables: Mapping[str, str]) -> None:
    """Raise `Invalid` for an address that nothing can be posted to. Names are looked at when they are called."""
    filled = address_of(url, variables)
    if fault := address_fault(filled):
        raise Invalid(f"url is invalid: it {fault}.")
    try:
        address = ip_address(httpx.URL(filled).host)
    except ValueError:
        return
    if not public_or_within(services.settings.outbound_networks)(address):
        raise Invalid(
            "url is blocked: it is not on the public internet; "
            "an administrator may permit its network (PERDURE_OUTBOUND_NETWORKS)."
        )


def _pairs(items: list[Pair] | None) -> dict[str, str]:
    return {item.key: item.value for item in items or ()}


def _values(services: Services, changes: Changes, before: Mapping[str, str], events: int) -> dict[str, Any]:
    """The columns to be written. Raises `Invalid`."""
    plain = {
        "url": changes.url,
        "name": changes.name,
        "description": changes.description,
        "verify_tls": changes.enable_ssl_verification,
        "branch_filter": changes.push_events_branch_filter,
        "branch_filter_strategy": changes.branch_filter_strategy,
    }
    values = {name: value for name, value in plain.items() if value is not None}
    strategy = changes.branch_filter_strategy or before.get("strategy", "wildcard")
    check_branch_filter(strategy, changes.push_events_branch_filter or "")
    if changes.token is not None:
        if not changes.token.isprintable() or not changes.token.isascii():
            raise Invalid("token is invalid: it goes into a header, so take printable ASCII characters.")
        values["token"] = sealed(services, changes.token)
    if changes.signing_token is not None:
        if changes.signing_token:
            signing_key(changes.signing_token)
        values["signing_token"] = sealed(services, changes.signing_token)
    if changes.custom_headers is not None:
        for item in changes.custom_headers:
            check_header(item.key, item.value)
        values["custom_headers"] = sealed_map(services, _pairs(changes.custom_headers))
    if changes.url_variables is not None:
        for item in changes.url_variables:
            check_variable(item.key, item.value)
        values["url_variables"] = sealed_map(services, _pairs(changes.url_variables))
    return {**values, "events": changes.events(events)}
