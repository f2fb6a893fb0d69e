"""Lists of routes: paths and dependencies from outside in, and a route that is made when it is called first."""

from typing import Any

import httpx
import pytest
from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute

from api.routes import RouteList, RouteOnDemand


class OtherRoute(APIRoute):
    """A kind of route."""


def noting(name: str) -> Any:
    """A dependency that notes that it was asked."""

    def note(asked: list[str] = Depends(asked_of_call)) -> None:
        asked.append(name)

    return Depends(note)


def asked_of_call() -> list[str]:
    """What has been noted for a call."""
    return []


def nested() -> RouteList:
    """Three lists in one another, each with a dependency."""
    inner = RouteList("/{one}", dependencies=[noting("inner")], kind=OtherRoute)
    outer = RouteList("/outer", dependencies=[noting("outer")], include_in_schema=False, max_body_size=7)
    whole = RouteList()

    @inner.get("/things", dependencies=[noting("route")])
    def things(one: int, asked: list[str] = Depends(asked_of_call)) -> dict[str, Any]:
        return {"one": one, "asked": asked}

    @inner.post("/things", status_code=201, max_body_size=9)
    def make(one: int) -> dict[str, int]:
        return {"one": one}

    outer.include(inner)
    whole.include(outer)
    return whole


def application() -> tuple[FastAPI, list[RouteOnDemand]]:
    app, routes = FastAPI(), [RouteOnDemand(route) for route in nested()]
    app.router.routes += routes
    return app, routes


def test_a_route_has_what_the_lists_around_it_say() -> None:
    things, make = nested()
    assert [(route.path, route.methods, route.kind) for route in (things, make)] == [
        ("/outer/{one}/things", ("GET",), OtherRoute),
        ("/outer/{one}/things", ("POST",), OtherRoute),
    ]
    assert things.options == {"include_in_schema": False, "max_body_size": 7}
    assert make.options == {"include_in_schema": False, "max_body_size": 9, "status_code": 201}
    assert isinstance(things.made(), OtherRoute)


async def test_dependencies_are_asked_from_the_outside_in() -> None:
    app, _ = application()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://perdure.test") as client:
        assert (await client.get("/outer/7/things")).json() == {"one": 7, "asked": ["outer", "inner", "route"]}


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/outer/7/things", 200), ("GET", "/outer/7", 404)])
async def test_a_route_is_made_for_the_first_request_of_its_path(method: str, path: str, status: int) -> None:
    app, (things, make) = application()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://perdure.test") as client:
        assert ["made" in vars(route) for route in (things, make)] == [False, False]
        for _ in range(2):
            assert (await client.request(method, path)).status_code == status
        assert ["made" in vars(route) for route in (things, make)] == [status == 200, False]


async def test_a_method_that_no_route_of_a_path_takes_is_refused() -> None:
    app, _ = application()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://perdure.test") as client:
        response = await client.delete("/outer/7/things")
    assert (response.status_code, response.headers["allow"]) == (405, "GET")
