"""Reads that end when their caller goes: what nobody waits for any more keeps no process and no place.

Only git and compiling are ended. The rest of the call goes on to its end: a statement that is cut short costs its
connection.
"""

import asyncio
from collections.abc import Callable, Coroutine
from http import HTTPMethod
from typing import Any, ClassVar, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

from api.replayed_body import replayed
from api.runner.body import json_limit, limited_body
from domain.size_limits import fixed
from git.turns import CALLER, GitCaller

_READS: Final = frozenset({HTTPMethod.GET, HTTPMethod.HEAD})
_BODY: Final = fixed("reads", 1024 * 1024, "They take their parameters from the address as well.")


class EndsWithCaller(APIRoute):
    """A route whose `GET` is worked on no more once its caller has closed the connection."""

    watched: ClassVar[frozenset[str]] = _READS

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the route, and whoever watches the caller."""
        handler = super().get_route_handler()
        if not self.watched.intersection(self.methods or ()):
            return handler

        async def watched(request: Request) -> Response:
            is_read = request.method in _READS
            limit = _BODY if is_read else json_limit(request.app.state.services.settings.sizes)
            body = await limited_body(request, limit, "the body")  # else it would be the watcher who gets it
            caller = GitCaller()
            CALLER.set(caller)
            watching = asyncio.create_task(_watch(request, caller))
            try:
                return await handler(Request(request.scope, replayed(body)))
            finally:
                watching.cancel()

        return watched


class PostEndsWithCaller(EndsWithCaller):
    """One whose `POST` is a read too, with a long parameter."""

    watched = _READS | {HTTPMethod.POST}


async def _watch(request: Request, caller: GitCaller) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    caller.leave()
