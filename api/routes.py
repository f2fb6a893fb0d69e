"""Routes as modules write them, and what FastAPI makes of them: each one once, when a request comes for it first.

A router of FastAPI makes each of its routes at once, and each router that includes it makes them anew and looks through
all of them twice for a request. With 500 routes that was half the start of a server, and a millisecond of each request.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias, TypeVar

from fastapi.params import Depends
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match, compile_path
from starlette.types import Receive, Scope, Send

Endpoint: TypeAlias = Callable[..., Any]
E = TypeVar("E", bound=Endpoint)


@dataclass(frozen=True, slots=True)
class WrittenRoute:
    """One route: its path, what is called, and what else `APIRoute` is told of it."""

    path: str
    endpoint: Endpoint
    methods: tuple[str, ...]
    kind: type[APIRoute] = APIRoute
    dependencies: tuple[Depends, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def made(self) -> APIRoute:
        """What carries requests out. FastAPI reads the endpoint's signature, which takes some milliseconds."""
        methods = list(self.methods)
        return self.kind(self.path, self.endpoint, methods=methods, dependencies=self.dependencies, **self.options)


class RouteList:
    """Routes below one prefix, in the order in which a request is held against them.

    `dependencies` come before those of a route, `kind` carries the routes out that are written here, and `options` hold
    for all: `include_in_schema`, `max_body_size` (bytes).
    """

    def __init__(
        self,
        prefix: str = "",
        *,
        dependencies: Sequence[Depends] = (),
        kind: type[APIRoute] = APIRoute,
        **options: Any,
    ) -> None:
        """No route yet."""
        self.prefix: Final = prefix
        self._dependencies = tuple(dependencies)
        self._kind = kind
        self._options = options
        self._written: list[WrittenRoute] = []

    def __iter__(self) -> Iterator[WrittenRoute]:
        """All routes, with whole paths."""
        return iter(self._written)

    def add(self, route: WrittenRoute) -> None:
        """Put one below the prefix; what a list says for all gives way to what a route says for itself."""
        self._written.append(
            replace(
                route,
                path=self.prefix + route.path,
                dependencies=(*self._dependencies, *route.dependencies),
                options={**self._options, **route.options},
            )
        )

    def include(self, others: "RouteList") -> None:
        """Put all of another list below the prefix."""
        for route in others:
            self.add(route)

    def get(self, path: str, **options: Any) -> Callable[[E], E]:
        """Write a route for `GET`, as with FastAPI's decorators; so below."""
        return self._writing("GET", path, options)

    def head(self, path: str, **options: Any) -> Callable[[E], E]:
        """Of `HEAD`, where it is something else than a `GET` without a body."""
        return self._writing("HEAD", path, options)

    def post(self, path: str, **options: Any) -> Callable[[E], E]:
        """Of `POST`."""
        return self._writing("POST", path, options)

    def put(self, path: str, **options: Any) -> Callable[[E], E]:
        """Of `PUT`."""
        return self._writing("PUT", path, options)

    def patch(self, path: str, **options: Any) -> Callable[[E], E]:
        """Of `PATCH`."""
        return self._writing("PATCH", path, options)

    def delete(self, path: str, **options: Any) -> Callable[[E], E]:
        """Of `DELETE`."""
        return self._writing("DELETE", path, options)

    def _writing(self, method: str, path: str, options: dict[str, Any]) -> Callable[[E], E]:
        own = tuple(options.pop("dependencies", ()))

        def written(endpoint: E) -> E:
            self.add(WrittenRoute(path, endpoint, (method,), self._kind, own, options))
            return endpoint

        return written


class RouteOnDemand(BaseRoute):
    """A written route among those of an application; FastAPI reads the signature of its endpoint when it is needed."""

    def __init__(self, written: WrittenRoute) -> None:
        """It takes the requests whose path is like the one that is written."""
        self._written = written
        self._head = written.path.partition("{")[0]
        self.path, self.methods = written.path, frozenset(written.methods)
        self.path_regex, self.path_format, _ = compile_path(written.path)

    @cached_property
    def made(self) -> APIRoute:
        """What carries requests out."""
        return self._written.made()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it takes a request: its path, then its method."""
        path = scope["path"]
        if path.startswith(self._head) and self.path_regex.match(path):
            return self.made.matches(scope)
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry a request out."""
        await self.made.handle(scope, receive, send)
