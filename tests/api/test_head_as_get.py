"""`HEAD` on everything that `GET` reads: the same status and headers, no body, and at once."""

from pathlib import Path

import httpx
import pytest

from tests.api.v4.site import open_site, serving
from tests.permissions.calls import call_of
from tests.permissions.place import open_place
from tests.permissions.routes import every_route
from tests.waiting import HANGS

OWN = {
    "/api/v4/projects/{project}/repository/branches/{branch}": "GitLab: 204, whether there is such a branch",
    "/api/v4/projects/{project}/repository/files/{file_path}": "GitLab: what is known of a file, in headers only",
}
"""Routes that answer `HEAD` in their own way, as in GitLab."""
MEASURED = {"/api/v4/pod": "how many seconds the database took to answer"}
"""Routes whose responses have a figure of that very call in them: its digits make the length."""
CHANGING = {"date", "x-request-id", "etag", "set-cookie", "content-security-policy", "transfer-encoding"}
"""What two answers to one call need not have in common: times, ids, nonces, how a body is sent."""


def _steady(path: str, response: httpx.Response) -> dict[str, str]:
    changing = CHANGING | ({"content-length"} if path in MEASURED else set())
    return {
        name: value
        for name, value in response.headers.items()
        if name not in changing and not name.startswith("ratelimit-")
    }


async def _difference(client: httpx.AsyncClient, path: str) -> str:
    """How the responses to `GET` and `HEAD` differ; empty if they do not."""
    async with client.stream("GET", path) as read:
        pass
    head = await client.head(path)
    if (head.status_code, _steady(path, head), head.content) == (read.status_code, _steady(path, read), b""):
        return ""
    return f"{path}:\n  {read.status_code} {read.headers}\n  {head.status_code} {head.headers}"


async def test_pages_lists_streams_and_refusals_answer_head(tmp_path: Path, sqlite_url: str) -> None:
    async with open_site(tmp_path, sqlite_url) as site, serving(site) as url:
        shown = {"PRIVATE-TOKEN": site.root.token}
        async with httpx.AsyncClient(base_url=url, headers=shown, trust_env=False, timeout=HANGS) as client:
            for path in ("/", "/-/api", "/-/events", "/api/v4/projects", "/api/v4/projects/9", "/nowhere/at/all"):
                assert not await _difference(client, path)
            assert (await client.head("/api/v4/projects")).headers["x-total"] == "1"


@pytest.mark.slow
async def test_every_get_has_a_head_of_the_same_status_and_headers(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place, serving(place.site) as url:
        shown = {"PRIVATE-TOKEN": place.site.root.token}
        values = {**place.objects["own"], "caller": str(place.site.root.id)}
        routes = [route for method, route in every_route(place.site.services) if method == "GET" and route not in OWN]
        assert len(routes) > 150
        async with httpx.AsyncClient(base_url=url, headers=shown, trust_env=False, timeout=HANGS) as client:
            wrong = [await _difference(client, call_of("GET", route).filled(values).path) for route in routes]
        assert not any(wrong), "\n".join(filter(None, wrong))
