"""Whatever stands in an address, its query or a body, the response is one of HTTP's for it, no fault of ours."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient

from api.app import create_framework
from tests.api.v4.site import Site, open_site
from tests.permissions.routes import every_route
from tests.security.request_bodies import bodies

pytestmark = pytest.mark.slow

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_ENDLESS = ("/events", "/trace/live")
"""Ends of routes that answer as long as somebody listens."""
HOSTILE = {
    "too-many-digits": "9" * 4000,
    "too-long": "9" * 5000,
    "a-number-that-no-database-has": str(2**63),
    "more-than-32-bits": str(2**31),
    "NUL": "1%00",
    "half-of-a-pair": "%ED%A0%80",
}
JSON = {"content-type": "application/json"}
WORDS = {"NUL": "a\0b", "half-of-a-pair": "\ud800", "a-number-that-no-database-has": 2**63, "more-than-32-bits": 2**31}


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation with one project and something in it."""
    async with open_site(tmp_path, database_url) as opened:
        await opened.commit({"a": "a"})
        await opened.world.pipeline()
        yield opened


def filled(route: str, site: Site, hostile: dict[str, str]) -> str:
    """A route's path with parameters that are there, but for the hostile ones."""
    known = {"project": site.world.project_id, "path": "tests/app", "sha": "main", "file_path": "a", "ref": "main"}
    return _PARAMETER.sub(lambda found: str(hostile.get(found[1], known.get(found[1], 1))), route)


def read_routes(site: Site) -> Iterator[str]:
    """The paths of everything that can be read to its end."""
    for method, route in every_route(site.services):
        if method == "GET" and not route.endswith(_ENDLESS):
            yield route


async def faults(client: AsyncClient, calls: Iterator[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """The calls (method, address, what httpx takes beside) that were answered with 500."""
    found = []
    for method, address, more in calls:
        response = await client.request(method, address, **more)
        if response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
            found.append(f"{method} {address[:160]} {str(more)[:80]}")
    return found


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
async def test_no_parameter_of_an_address_is_a_fault(site: Site, hostile: str) -> None:
    calls: Iterator[tuple[str, str, dict[str, Any]]] = (
        ("GET", filled(route, site, {name: hostile}), {})
        for route in read_routes(site)
        for name in _PARAMETER.findall(route)
    )
    async with site.client(site.root) as client:
        assert await faults(client, calls) == []


@pytest.mark.parametrize("hostile", ["more-than-32-bits", "half-of-a-pair", "too-long"])
async def test_no_parameter_of_a_query_is_a_fault(site: Site, hostile: str) -> None:
    document = create_framework(site.services).openapi()
    calls: Iterator[tuple[str, str, dict[str, Any]]] = (
        ("GET", f"{filled(route, site, {})}?{parameter['name']}={HOSTILE[hostile]}", {})
        for route, methods in document["paths"].items()
        for parameter in methods.get("get", {}).get("parameters", ())
        if parameter["in"] == "query" and not route.endswith(_ENDLESS)
    )
    async with site.client(site.root) as client:
        assert await faults(client, calls) == []


@pytest.mark.parametrize("word", WORDS.values(), ids=WORDS.keys())
async def test_no_field_of_a_body_is_a_fault(site: Site, word: str | int) -> None:
    document = create_framework(site.services).openapi()
    calls: Iterator[tuple[str, str, dict[str, Any]]] = (
        (method.upper(), filled(route, site, {}), {"content": json.dumps({**body, name: word}), "headers": JSON})
        for method, route, body, fields in bodies(document)
        for name in fields
    )
    async with site.client(site.root) as client:
        assert await faults(client, calls) == []
