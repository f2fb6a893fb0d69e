"""A small server with GitLab's documented shapes, for routes that the real server does not have yet.

Every request must be one that GitLab documents (docs.gitlab.com/api: `pipeline_schedules`,
`pipeline_triggers`); anything else is a 404 or 400, as there.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.ports import LOCAL, free_port
from tests.waiting import eventually

TOKEN: Final = "glpat-recorded"
OWNER: Final = {"id": 7, "username": "ada", "name": "Ada", "state": "active", "web_url": "http://ci/ada"}
MOMENT: Final = "2026-01-02T03:04:05.678Z"
_ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    "schedule": frozenset({"description", "ref", "cron", "cron_timezone", "active", "inputs"}),
    "schedule variable": frozenset({"key", "value", "variable_type"}),
    "trigger": frozenset({"description"}),
}
"""The parameters that GitLab knows."""


class Recorded:
    """Its state; `asked` are the requests that changed something."""

    def __init__(self) -> None:
        """Empty."""
        self.schedules: dict[int, dict[str, Any]] = {}
        self.triggers: dict[int, dict[str, Any]] = {}
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.next = 10

    def app(self) -> Starlette:
        """Its routes."""
        project = "/api/v4/projects/{project:int}"
        routes = [
            Route("/api/v4/user", self.user),
            Route("/api/v4/version", self.version),
            Route("/api/v4/projects/{project:int}", self.project),
            Route(f"{project}/pipeline_schedules", self.schedule_list, methods=["GET", "POST"]),
            Route(f"{project}/pipeline_schedules/{{id:int}}", self.schedule, methods=["GET", "PUT", "DELETE"]),
            Route(f"{project}/pipeline_schedules/{{id:int}}/play", self.play, methods=["POST"]),
            Route(f"{project}/pipeline_schedules/{{id:int}}/take_ownership", self.take_ownership, methods=["POST"]),
            Route(f"{project}/pipeline_schedules/{{id:int}}/variables", self.schedule_variable, methods=["POST"]),
            Route(f"{project}/triggers", self.trigger_list, methods=["GET", "POST"]),
            Route(f"{project}/triggers/{{id:int}}", self.trigger, methods=["DELETE"]),
        ]
        return Starlette(routes=routes)

    async def user(self, _request: Request) -> Response:
        return JSONResponse({**OWNER, "is_admin": True})

    async def version(self, _request: Request) -> Response:
        return JSONResponse({"version": "18.0.0", "revision": "recorded"})

    async def project(self, request: Request) -> Response:
        return JSONResponse({"id": request.path_params["project"], "default_branch": "trunk"})

    async def schedule_list(self, request: Request) -> Response:
        if request.method == "GET":
            shown = [{k: v for k, v in one.items() if k != "last_pipeline"} for one in self.schedules.values()]
            return JSONResponse(shown)
        body = await self._body(request, "schedule")
        if missing := [name for name in ("description", "ref", "cron") if not body.get(name)]:
            return JSONResponse({"error": ", ".join(f"{name} is missing" for name in missing)}, 400)
        if len(body["cron"].split()) != 5:
            return JSONResponse({"message": {"cron": ["syntax is invalid"]}}, 400)
        made = {
            "id": self._id(),
            "cron_timezone": "UTC",
            "next_run_at": MOMENT,
            "active": True,
            "created_at": MOMENT,
            "updated_at": MOMENT,
            "owner": OWNER,
            "last_pipeline": {"id": 332, "sha": "0" * 40, "ref": "main", "status": "pending"},
            **body,
        }
        self.schedules[made["id"]] = made
        return JSONResponse(made, 201)

    async def schedule(self, request: Request) -> Response:
        found = self.schedules.get(request.path_params["id"])
        if found is None:
            return JSONResponse({"message": "404 Pipeline Schedule Not Found"}, 404)
        if request.method == "PUT":
            found |= await self._body(request, "schedule")
        if request.method == "DELETE":
            del self.schedules[found["id"]]
            return Response(status_code=204)
        return JSONResponse(found)

    async def play(self, request: Request) -> Response:
        if request.path_params["id"] not in self.schedules:
            return JSONResponse({"message": "404 Pipeline Schedule Not Found"}, 404)
        self.asked.append(("POST", request.url.path, {}))
        return JSONResponse({"message": "201 Created"}, 201)

    async def take_ownership(self, request: Request) -> Response:
        self.asked.append(("POST", request.url.path, {}))
        return JSONResponse(self.schedules[request.path_params["id"]], 201)

    async def schedule_variable(self, request: Request) -> Response:
        return JSONResponse({**(await self._body(request, "schedule variable")), "variable_type": "env_var"}, 201)

    async def trigger_list(self, request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse(list(self.triggers.values()))
        body = await self._body(request, "trigger")
        usual = {"created_at": MOMENT, "last_used": None, "updated_at": MOMENT, "owner": OWNER}
        made = {"id": self._id(), "token": "glptt-6d056f63e50fe6f8c5f8f4aa10edb7", **usual, **body}
        self.triggers[made["id"]] = made
        return JSONResponse(made, 201)

    async def trigger(self, request: Request) -> Response:
        if self.triggers.pop(request.path_params["id"], None) is None:
            return JSONResponse({"message": "404 Trigger Not Found"}, 404)
        return Response(status_code=204)

    def _id(self) -> int:
        self.next += 1
        return self.next

    async def _body(self, request: Request, kind: str) -> dict[str, Any]:
        body: dict[str, Any] = await request.json()
        assert body.keys() <= _ALLOWED[kind], f"GitLab does not know {body.keys() - _ALLOWED[kind]}"
        self.asked.append((request.method, request.url.path, dict(body)))
        return body


@asynccontextmanager
async def recorded() -> AsyncIterator[tuple[Recorded, str]]:
    """The server and its address."""
    state, port = Recorded(), free_port()
    server = uvicorn.Server(uvicorn.Config(state.app(), host=LOCAL, port=port, log_level="warning", ws="none"))
    running = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    await eventually(started, "the server has started")
    try:
        yield state, f"http://{LOCAL}:{port}"
    finally:
        server.should_exit = True
        await running
