"""The installation in which the examples are called: that of the permission matrix, with a receiver of webhooks."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx
import orjson

from settings import TimeLimits
from tests.activities.receiver import NETWORK, receiving
from tests.api.openapi.requests import Request
from tests.api.v4.hooks.delivering import told
from tests.permissions.calls import call_of
from tests.permissions.place import Place, open_place

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
SHOWN_TOKEN: Final = "glptt-0123456789abcdef0123"


@asynccontextmanager
async def open_story(folder: Path) -> AsyncIterator["Story"]:
    """The installation, whose webhooks reach a receiver."""
    async with receiving() as receiver:
        times = TimeLimits(hook_timeout=3)
        more: dict[str, Any] = {"outbound_networks": NETWORK, "times": times}
        async with open_place(folder, hook_url=receiver.url, around=told, **more) as place:
            yield Story(place, receiver.url)


class Story:
    """Makes calls, each from the same state."""

    def __init__(self, place: Place, hook_url: str) -> None:
        """Take the place, and where its webhooks lead."""
        self.place = place
        self.hook_url = hook_url

    @property
    def values(self) -> Mapping[str, str]:
        """What placeholders stand for."""
        return self.place.objects["own"]

    def parameters(self, request: Request) -> dict[str, str]:
        """The values of the path of a call."""
        names = _PLACEHOLDER.findall(request.path)
        found = call_of(request.method, f"/api/v4{request.path}").filled(self.values).path.partition("?")[0]
        pattern = _PLACEHOLDER.sub(r"(?P<\1>[^/]+)", f"/api/v4{request.path}")
        match = re.fullmatch(re.sub(r"\(\?P<(key)>\[\^/\]\+\)$", r"(?P<\1>.+)", pattern), found)
        assert match is not None, f"{found} is not {request.path}"
        return {name: match[name] for name in names} | {
            name: str(self.body(value)) for name, value in request.values.items()
        }

    def body(self, given: Any) -> Any:
        """A body with values put in."""
        if isinstance(given, dict):
            return {name: self.body(value) for name, value in given.items()}
        if isinstance(given, str) and (match := _PLACEHOLDER.fullmatch(given)):
            value = self.values[match[1]]
            return int(value) if value.isdecimal() else value
        return given

    async def call(
        self, request: Request, path: Mapping[str, str], query: Mapping[str, str], body: Any
    ) -> httpx.Response:
        """Make a call."""
        await self.place.put_back()
        site = self.place.site
        headers = {"JOB-TOKEN": await self._job_token()} if request.who == "job" else {}
        person = None if request.who in {"job", "anonymous"} else self.place.people[request.who]
        address, first = (_PLACEHOLDER.sub(lambda match: path[match[1]], one) for one in (request.path, request.first))
        async with site.client(person, headers=headers) as client:
            if first:
                await client.post(f"/api/v4{first}")
            return await client.request(request.method, f"/api/v4{address}", params=query, **_content(body))

    async def _job_token(self) -> str:
        """The token of a job that runs."""
        world = replace(self.place.site.world, project_id=int(self.values["project"]))
        async with self.place.site.client(self.place.site.root) as client:
            made = (await client.post(f"/api/v4/projects/{world.project_id}/pipeline", json={"ref": "main"})).json()
        await world.settle(made["id"])
        return str((await world.job())["token"])


def _content(body: Any) -> dict[str, Any]:
    if body is None:
        return {}
    return {"content": orjson.dumps(body), "headers": {"content-type": "application/json"}}
