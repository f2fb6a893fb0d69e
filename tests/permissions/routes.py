"""Every route that the application answers: those of the framework, and those of runners ahead of it."""

from collections.abc import Iterable, Iterator

from starlette.routing import BaseRoute, Route

from api.app import create_framework
from api.routes import RouteOnDemand
from api.services import Services

_NOT_COUNTED = frozenset({"HEAD", "OPTIONS"})


def every_route(services: Services) -> list[tuple[str, str]]:
    """Method and path of each, in the order of their paths."""
    found = set(_walk(create_framework(services).router.routes))
    return sorted(found, key=lambda each: (each[1], each[0]))


def _walk(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, Route | RouteOnDemand):
            yield from ((method, route.path) for method in set(route.methods or ()) - _NOT_COUNTED)
        else:
            raise TypeError(f"{route!r} is a kind of route that this walk does not know.")
