"""Routes that are written once and mounted for each kind of owner: projects, groups, the installation.

A route takes what it needs of the owner from `Depends(of_owner)`, which stands for the dependency of each kind:

    @routes.get("")
    async def list_labels(planning: PlanningAccess = Depends(of_owner)) -> ...

    router.include(mounted(routes, "/projects/{project}/labels", {of_owner: planning_of_project}))
    router.include(mounted(routes, "/groups/{group}/labels", {of_owner: planning_of_group}))
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Final, TypeAlias

from fastapi.params import Depends

from api.routes import RouteList

_UNMOUNTED: Final = "a route that is written for all owners has been called without one"

Dependency: TypeAlias = Callable[..., Any]


async def of_owner() -> Any:
    """Stands for what reads the owner of a path, and checks what the caller may do there."""
    raise NotImplementedError(_UNMOUNTED)


async def of_owner_to_change() -> Any:
    """The same where changing asks for more than reading."""
    raise NotImplementedError(_UNMOUNTED)


async def of_one() -> Any:
    """Stands for what reads the one thing that a path names below its owner."""
    raise NotImplementedError(_UNMOUNTED)


def mounted(routes: RouteList, prefix: str, dependencies: Mapping[Dependency, Dependency]) -> RouteList:
    """The routes below the path of one kind of owner, with its dependencies in the place of the stand-ins."""
    found = RouteList(prefix)
    for route in routes:
        found.add(replace(route, endpoint=_bound(route.endpoint, dependencies)))
    return found


def _bound(endpoint: Dependency, dependencies: Mapping[Dependency, Dependency]) -> Dependency:
    """The same function for FastAPI, which reads dependencies from signatures, with others in their place."""

    @wraps(endpoint)
    async def bound(**values: Any) -> Any:
        return await endpoint(**values)

    signature = inspect.signature(endpoint)
    parameters = []
    for parameter in signature.parameters.values():
        asked = parameter.default.dependency if isinstance(parameter.default, Depends) else None
        own = dependencies.get(asked) if asked is not None else None
        parameters.append(parameter if own is None else parameter.replace(default=Depends(own)))
    bound.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return bound
