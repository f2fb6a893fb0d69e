"""The REST API's routers are found, not listed: every one is there, and no route hides another."""

import re
from functools import partial
from pathlib import Path

import httpx
import pytest
from fastapi import Depends, FastAPI
from starlette.routing import compile_path

import api.v4
from api.routes import RouteList, RouteOnDemand, WrittenRoute
from api.v4.owned_routes import mounted, of_owner
from api.v4.router import router, routers

HERE = Path(api.v4.__file__).parent


def test_each_module_that_has_a_router_is_found() -> None:
    written = [file for file in HERE.glob("*/*.py") if re.search(r"^router = ", file.read_text(), re.MULTILINE)]
    assert len(written) > 60
    assert len(list(routers())) == len(written)


def test_no_route_hides_one_with_a_fixed_path() -> None:
    before: list[tuple[WrittenRoute, re.Pattern[str]]] = []
    hidden = []
    for route in router:
        example = re.sub(r"\{[^}]*\}", "7", route.path)
        hidden += [
            (other.path, route.path)
            for other, pattern in before
            if set(other.methods) & set(route.methods) and other.path != route.path and pattern.fullmatch(example)
        ]
        before.append((route, compile_path(route.path)[0]))
    assert len(before) > 400
    assert hidden == []


async def test_a_route_for_all_owners_is_mounted_with_the_dependency_of_one() -> None:
    routes = RouteList()

    @routes.get("/name")
    async def name(owner: str = Depends(of_owner)) -> str:
        """Whose it is."""
        return owner

    app = FastAPI()
    for kind in ("projects", "groups"):
        owned = mounted(routes, f"/{kind}/{{owner_id}}", {of_owner: partial(_owner, kind)})
        app.router.routes += [RouteOnDemand(route) for route in owned]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://perdure.test") as client:
        assert (await client.get("/projects/7/name")).json() == "projects 7"
        assert (await client.get("/groups/8/name")).json() == "groups 8"
    with pytest.raises(NotImplementedError):
        await of_owner()


async def _owner(kind: str, owner_id: int) -> str:
    return f"{kind} {owner_id}"
