"""Every route that takes a job token, and how a token is shown there."""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from fastapi import FastAPI
from starlette.routing import Route

from api.routes import RouteOnDemand
from auth.registry_token import SERVICE

HEADER, BASIC = "header", "basic"
_KIND: Final = re.compile(r":\w+\}")
_RELEASES: Final = "/api/v4/projects/{project}/releases"
_GIT: Final = "/{path:project}.git"


@dataclass(frozen=True)
class Door:
    """One route. `route` is as the application writes it; `{...}` of it is filled from the names of a `Place`.

    One that is of `rest` is of the REST API: a good token is believed there, and told that what the path names is not
    there, or that a body lacks something.
    """

    method: str
    route: str
    shown: str = HEADER
    names_job: bool = False
    opens: bool = True
    rest: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


@dataclass(frozen=True)
class Place:
    """What the paths of doors name."""

    job_id: int
    archive_id: int
    project: int
    namespace: str
    name: str
    path: str
    tag: str = "v1"
    ref: str = "main"
    place: str = "main/raw/a.txt?job=build"
    environment_id: int = 1
    deployment_id: int = 1
    file_path: str = "a.txt"
    sha: str = "main"
    iid: int = 1
    asset: str = "app"
    link_id: int = 1
    file_id: int = 1


def _of_job(method: str, rest: str, **request: Any) -> Door:
    return Door(method, "/api/v4/jobs/{job_id:int}" + rest, names_job=True, request=request)


def _rest(method: str, route: str) -> Door:
    request = {} if method in {"GET", "DELETE"} else {"json": {"name": "review"}}
    return Door(method, f"/api/v4{route}", rest=True, request=request)


_PROJECT: Final = "/projects/{project}"
_ENVIRONMENTS: Final = f"{_PROJECT}/environments"
_LINKS: Final = f"{_PROJECT}/releases/{{tag}}/assets/links"
DEPLOYMENT: Final = {"environment": "review", "sha": "main", "ref": "main", "tag": False, "status": "success"}
_FILE: Final = {"file": ("artifacts.zip", b"PK", "application/octet-stream")}
_TOKEN_QUESTION: Final = {"service": SERVICE, "scope": "repository:{namespace}/{name}:pull"}

DOORS: Final = (
    _of_job("PUT", "", json={"state": "running"}),
    _of_job("PATCH", "/trace", content=b"x", headers={"Content-Range": "0-0"}),
    _of_job("POST", "/artifacts", files=_FILE),
    _of_job("POST", "/artifacts/authorize"),
    Door("GET", "/api/v4/jobs/{job_id:int}/artifacts"),
    Door("GET", f"{_GIT}/info/refs", BASIC, request={"params": {"service": "git-upload-pack"}}),
    Door("POST", f"{_GIT}/git-upload-pack", BASIC, request={"content": b"0000"}),
    Door("POST", f"{_GIT}/git-receive-pack", BASIC, opens=False, request={"content": b"0000"}),
    Door("GET", _RELEASES),
    Door("POST", _RELEASES, request={"json": {"tag_name": "v1", "ref": "main"}}),
    Door("GET", _RELEASES + "/permalink/latest"),
    Door("GET", _RELEASES + "/{tag:path}"),
    Door("DELETE", _RELEASES + "/{tag:path}"),
    Door("POST", "/api/v4/projects/{project}/trigger/pipeline", request={"json": {"ref": "main"}}),
    Door("POST", "/api/v4/projects/{project}/ref/{ref}/trigger/pipeline", request={"json": {}}),
    Door("GET", "/jwt/auth", BASIC, request={"params": _TOKEN_QUESTION}),
    Door("POST", "/jwt/auth", BASIC, request={"data": _TOKEN_QUESTION}),
    _rest("GET", "/job"),
    _rest("GET", _PROJECT + "/jobs/artifacts/{place:path}"),
    _rest("GET", _PROJECT + "/jobs/{job_id}/artifacts"),
    _rest("GET", _PROJECT + "/jobs/{job_id}/artifacts/tree"),
    _rest("GET", _PROJECT + "/jobs/{job_id}/artifacts/{path:path}"),
    _rest("PUT", _PROJECT + "/releases/{tag:path}"),
    _rest("GET", _PROJECT + "/releases/{tag}/downloads/{asset:path}"),
    _rest("GET", _PROJECT + "/releases/permalink/latest/downloads/{asset:path}"),
    _rest("GET", _LINKS),
    Door("POST", f"/api/v4{_LINKS}", rest=True, request={"json": {"name": "app", "url": "https://example.com/app"}}),
    _rest("GET", _LINKS + "/{link_id}"),
    _rest("PUT", _LINKS + "/{link_id}"),
    _rest("DELETE", _LINKS + "/{link_id}"),
    _rest("GET", _ENVIRONMENTS),
    _rest("GET", _ENVIRONMENTS + "/{environment_id}"),
    _rest("PUT", _ENVIRONMENTS + "/{environment_id}"),
    _rest("DELETE", _ENVIRONMENTS + "/{environment_id}"),
    _rest("POST", _ENVIRONMENTS),
    _rest("POST", _ENVIRONMENTS + "/{environment_id}/stop"),
    _rest("GET", _PROJECT + "/deployments"),
    _rest("GET", _PROJECT + "/deployments/{deployment_id}"),
    Door("POST", f"/api/v4{_PROJECT}/deployments", rest=True, request={"json": DEPLOYMENT}),
    Door("PUT", f"/api/v4{_PROJECT}/deployments/{{deployment_id}}", rest=True, request={"json": {"status": "success"}}),
    _rest("DELETE", _PROJECT + "/deployments/{deployment_id}"),
    _rest("GET", _PROJECT + "/repository/files/{file_path}/raw"),
    _rest("GET", _PROJECT + "/repository/branches"),
    _rest("GET", _PROJECT + "/repository/tags"),
    _rest("GET", _PROJECT + "/repository/commits/{sha}"),
    _rest("GET", _PROJECT + "/merge_requests"),
    _rest("GET", _PROJECT + "/merge_requests/{iid}"),
    _rest("GET", _PROJECT + "/secure_files"),
    _rest("GET", _PROJECT + "/secure_files/{file_id}"),
    _rest("GET", _PROJECT + "/secure_files/{file_id}/download"),
)
"""The way to publish a release is last but one of its kind, so that each door opens to a good token in this order."""


def path_of(route: str, place: Place) -> str:
    """A path of the route."""
    return plain(route).format_map(vars(place))


def plain(route: str) -> str:
    """A route whose parameters are only named: `{job_id:int}` becomes `{job_id}`."""
    return _KIND.sub("}", route)


async def knock(client: httpx.AsyncClient, door: Door, place: Place, token: str) -> httpx.Response:
    """Show a token at a door."""
    if str(door) == "GET /api/v4/jobs/{job_id:int}/artifacts":
        path = path_of(door.route, Place(**{**vars(place), "job_id": place.archive_id}))
    else:
        path = path_of(door.route, place)
    request = {name: _filled(value, place) for name, value in door.request.items()}
    headers = dict(request.pop("headers", {})) | shown(door, token)
    return await client.request(door.method, path, headers=headers, **request)


def shown(door: Door, token: str) -> dict[str, Any]:
    """The header that carries a token; its bytes are sent as they are."""
    raw = token.encode("utf-8", "surrogatepass")
    if door.shown == BASIC:
        return {"Authorization": b"Basic " + base64.b64encode(b"gitlab-ci-token:" + raw)}
    return {"JOB-TOKEN": raw}


def _filled(value: Any, place: Place) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: text.format_map(vars(place)) if isinstance(text, str) else text for key, text in value.items()}


def routes_of(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Method and path of every route of an application."""
    for route in app.routes:
        assert isinstance(route, Route | RouteOnDemand)
        for method in sorted((route.methods or set()) - {"HEAD"}):
            yield method, route.path
