"""The REST API as one router: GitLab's paths below `/api/v4`, the runner protocol excepted.

Every module of the packages below that has a `router` is part of it; nobody lists them.
"""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Final

from fastapi import Depends

from api import v4
from api.routes import RouteList
from api.v4.origin import require_token_or_our_pages

CALLED_OFTEN: Final = ("pipelines.pipelines", "pipelines.contents", "jobs.jobs")
"""What stands first: a request is held against the paths of all before its own."""


def routers() -> Iterator[RouteList]:
    """The routers of all modules, those that are called most first."""
    names = {
        found.name
        for package in pkgutil.iter_modules(v4.__path__, f"{v4.__name__}.")
        if package.ispkg
        for found in pkgutil.iter_modules(import_module(package.name).__path__, f"{package.name}.")
    }
    first = [f"{v4.__name__}.{name}" for name in CALLED_OFTEN]
    for name in (*first, *sorted(names.difference(first))):
        router = getattr(import_module(name), "router", None)
        if isinstance(router, RouteList):
            yield router


router = RouteList(prefix="/api/v4", dependencies=[Depends(require_token_or_our_pages)])
for part in routers():
    router.include(part)
