"""Bodies that are too large are refused before they are whole in memory, whoever sends them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.v4.site import Site, open_site

CHUNK = b"a" * 65536
LARGE = 16 * 1024 * 1024
MAX_SIZE = 4 * 1024 * 1024
BEGINNINGS = {
    "application/x-www-form-urlencoded": b"username=",
    "application/json": b'{"name": "',
    "multipart/form-data; boundary=b": b'--b\r\nContent-Disposition: form-data; name="username"; filename="f"\r\n\r\n',
}
"""Of bodies that are right as far as they go."""
ROUTES = [
    ("POST", "/users/sign_in", "multipart/form-data; boundary=b"),
    ("POST", "/users/sign_in", "application/x-www-form-urlencoded"),
    ("POST", "/{path}/-/pipelines", "application/x-www-form-urlencoded"),
    ("POST", "/{path}/-/pipelines", "multipart/form-data; boundary=b"),
    ("POST", "/api/v4/groups", "application/json"),
    ("POST", "/api/v4/projects/{id}/pipeline", "application/x-www-form-urlencoded"),
    ("GET", "/api/v4/projects/{id}/repository/commits", "application/json"),
    ("POST", "/jwt/auth", "application/x-www-form-urlencoded"),
    ("POST", "/api/v4/jobs/request", "application/json"),
    ("PUT", "/api/v4/projects/{id}", "application/json"),
]


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    async with open_site(tmp_path, sqlite_url) as opened:
        yield opened


@pytest.mark.parametrize(("method", "route", "kind"), ROUTES)
@pytest.mark.parametrize("known", [True, False], ids=["known", "stranger"])
async def test_a_large_body_is_not_read_to_its_end(site: Site, method: str, route: str, kind: str, known: bool) -> None:
    path = route.format(path=await site.path(), id=site.world.project_id)
    taken = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal taken
        yield BEGINNINGS.get(kind, b"")
        while taken < LARGE:
            taken += len(CHUNK)
            yield CHUNK

    async with site.client(site.root if known else None, headers={"Content-Type": kind}) as client:
        response = await client.request(method, path, content=body())
    assert 400 <= response.status_code < 500
    assert taken <= MAX_SIZE
