"""Webhooks of projects, of groups and of the installation: listed, read, made, changed, deleted."""

from typing import Annotated, Final

from fastapi import Depends, Response
from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.hooks.hook_access import PLACES, HookAccess, hook_of, note, presented
from api.v4.hooks.parameters import AT_FIRST, Changes, NewHook, check_url, columns, goes_elsewhere, pairs
from api.v4.owned_routes import mounted, of_one, of_owner
from api.v4.owner_access import OwnerAccess
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.hooks import HookResponse
from api.v4.without_effect import HOOK
from application.hooks.secrets import opened_map
from domain.errors import Invalid
from domain.hooks.webhooks import HookScope
from models.repositories.hooks import hooks
from models.repositories.paging import slice_of

MAX_HOOKS: Final = {HookScope.PROJECT: 100, HookScope.GROUP: 50, HookScope.SYSTEM: 100}
"""Of one project or group: GitLab's limits. GitLab has none for system hooks."""

_SECRET: Final = ("token", "signing_token", "custom_headers", "url_variables")


routes = RouteList()
"""The same five calls for the webhooks of one kind of owner."""


@routes.get("", response_model=list[HookResponse])
async def list_hooks(services: ServicesDep, paging: PagingDep, found: OwnerAccess = Depends(of_owner)) -> JSONResponse:
    """The webhooks, the oldest first."""
    async with services.database.read() as connection:
        page = await slice_of(connection, hooks.of_owner(found.owner), paging.number, paging.size)
    return paging.response([presented(services, row) for row in page.rows], page.total)


@routes.get("/{hook_id}")
async def get_hook(services: ServicesDep, hook: HookAccess = Depends(of_one)) -> HookResponse:
    """One webhook."""
    return presented(services, hook.row)


@routes.post("", status_code=201)
async def create_hook(
    new: Annotated[NewHook, Depends(given(NewHook, without_effect=HOOK))],
    services: ServicesDep,
    found: OwnerAccess = Depends(of_owner),
) -> HookResponse:
    """Make a webhook."""
    scope = hooks.scope_of(found.owner)
    values = columns(services, new, scope, AT_FIRST[scope])
    check_url(services, new.url, pairs(new.url_variables))
    async with services.database.write() as connection:
        if await hooks.count(connection, found.owner) >= MAX_HOOKS[scope]:
            raise Invalid(f"Maximum number of {scope} hooks ({MAX_HOOKS[scope]}) exceeded; delete one first.")
        made = await hooks.add(connection, found.owner, services.clock(), **values)
        await note(connection, services, found, made, "hook_created")
        row = await hooks.get(connection, made, found.owner)
    return presented(services, row)


@routes.put("/{hook_id}")
async def change_hook(
    changes: Annotated[Changes, Depends(given(Changes, without_effect=HOOK))],
    services: ServicesDep,
    hook: HookAccess = Depends(of_one),
) -> HookResponse:
    """Change a webhook. If it goes elsewhere, also by a variable, it forgets what is secret and not given with it."""
    moves = changes.url not in {None, hook.row.url}
    known = opened_map(services, hook.row.url_variables)
    values = columns(services, changes, hooks.scope_of(hook.owner), hook.row.events, hook.row.branch_filter_strategy)
    if changes.url is not None or changes.url_variables is not None:
        kept = {} if moves else known
        fresh = kept if changes.url_variables is None else pairs(changes.url_variables)
        check_url(services, changes.url or hook.row.url, fresh)
        moves = moves or goes_elsewhere(hook.row.url, known, fresh)
    if moves:
        values = {**dict.fromkeys(_SECRET, ""), **values}
    async with services.database.write() as connection:
        await hooks.change(connection, hook.row.id, hook.owner, **values)
        await note(connection, services, hook.access, hook.row.id, "hook_changed")
        row = await hooks.get(connection, hook.row.id, hook.owner)
    return presented(services, row)


@routes.delete("/{hook_id}", status_code=204)
async def delete_hook(services: ServicesDep, hook: HookAccess = Depends(of_one)) -> Response:
    """Delete a webhook with the log of its deliveries; what is still on its way is not delivered any more."""
    async with services.database.write() as connection:
        await hooks.remove(connection, hook.row.id, hook.owner)
        await note(connection, services, hook.access, hook.row.id, "hook_removed")
    return Response(status_code=204)


router = RouteList()
for place, may in PLACES:
    router.include(mounted(routes, place, {of_owner: may, of_one: hook_of(may)}))
