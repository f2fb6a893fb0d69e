"""What watches the responses in all tests of the API sees each kind of mistake."""

from typing import Any, NotRequired

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from tests.api.v4.declared_responses import DeclaredResponses, WatchedTransport
from tests.api.v4.site import Site

GOOD: dict[str, Any] = {"id": 1, "name": None, "inner": [{"ratio": 1.5}]}


class InnerResponse(TypedDict):
    ratio: float
    on: NotRequired[bool]


class ThingResponse(TypedDict):
    id: int
    name: str | None
    inner: list[InnerResponse]


class AcceptedResponse(TypedDict):
    key: str


def client_of(response: Any, **told: Any) -> Any:
    """A client of an application with two calls: one returns the response, one makes a response of it."""
    router, app = APIRouter(prefix="/things"), FastAPI()

    @router.get("/returned")
    async def returned() -> ThingResponse:
        found: ThingResponse = response
        return found

    @router.get("/made", response_model=ThingResponse, responses={202: {"model": AcceptedResponse}})
    async def made() -> JSONResponse:
        return JSONResponse(response, **told)

    app.include_router(router)
    watch = DeclaredResponses(app)
    return WatchedTransport(watch, watch, raise_app_exceptions=False)


async def call(response: Any, path: str, **told: Any) -> None:
    async with httpx.AsyncClient(transport=client_of(response, **told), base_url="http://perdure.test") as client:
        await client.get(f"/things/{path}")


@pytest.mark.parametrize("path", ["returned", "made"])
async def test_what_is_as_declared_is_good(path: str) -> None:
    await call(GOOD, path)


@pytest.mark.parametrize("path", ["returned", "made"])
@pytest.mark.parametrize(
    ("response", "fault"),
    [
        ({**GOOD, "more": 1}, ".more"),
        ({**GOOD, "inner": [{"ratio": 1, "more": None}]}, ".inner[].more"),
        ({"id": 1, "inner": []}, "name"),
        ({**GOOD, "id": "one"}, "id"),
        ({**GOOD, "id": None}, "id"),
        ({**GOOD, "inner": [{"ratio": 1, "on": "maybe"}]}, "on"),
    ],
)
async def test_what_is_unlike_its_type_is_told(path: str, response: Any, fault: str) -> None:
    with pytest.raises(AssertionError, match="things") as told:
        await call(response, path)
    assert fault in str(told.value)


@pytest.mark.parametrize("response", [{**GOOD, "id": "1"}, {**GOOD, "id": True}])
@pytest.mark.parametrize("path", ["returned", "made"])
async def test_no_kind_is_turned_into_another_one_unseen(path: str, response: Any) -> None:
    with pytest.raises(AssertionError, match="/things"):
        await call(response, path)


async def test_another_status_may_have_a_type_of_its_own() -> None:
    await call({"key": "a"}, "made", status_code=202)
    with pytest.raises(AssertionError, match=r"GET /things/made: 202 .*"):
        await call(GOOD, "made", status_code=202)


async def test_a_document_of_a_route_without_a_type_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.api.v4.declared_responses.has_type", lambda model: False)
    async with site.client(site.root) as client:
        with pytest.raises(AssertionError, match=r"/version: 200 answers JSON of which the route has no type"):
            await client.get("/api/v4/version")


async def test_what_is_no_success_is_not_looked_at() -> None:
    await call({"message": "404 Not Found"}, "made", status_code=404)


async def test_it_watches_the_whole_application(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.v4.installation.versions.LIKE_GITLAB", 17)
    async with site.client(site.root) as client:
        with pytest.raises(AssertionError, match=r"/version"):
            await client.get("/api/v4/version")
