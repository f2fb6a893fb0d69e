"""No page offers somebody what is refused to them: every link and button of every page of a project, by role."""

from collections.abc import AsyncIterator
from urllib.parse import urlencode, urlsplit

import pytest

from tests.permissions.calls import Call, call_of
from tests.permissions.offers import Offer, offers_of
from tests.permissions.place import ROLES, Place, open_place
from tests.permissions.routes import every_route

OF_PROJECT = "/{path:project}"
REFUSED = {401, 403, 404}
FORM = {"content-type": "application/x-www-form-urlencoded"}

pytestmark = pytest.mark.slow  # some hundred pages, each link of which is followed


MEMBERS = [*ROLES, "admin"]
CASES = {
    "open": ("own", MEMBERS),
    "archived": ("own", MEMBERS),
    "public": ("foreign", ["anonymous", "owner"]),  # nobody of them, nor a stranger, is a member there
}
"""States of a project with the side that is brought into it, and who looks at its pages."""


@pytest.fixture(scope="module")
async def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """The installation with two sides; every call finds it as it was."""
    state: str = request.param
    async with open_place(tmp_path_factory.mktemp("place")) as opened:
        async with opened.site.client(opened.site.root) as client:
            mine, theirs = opened.objects["own"], opened.objects["foreign"]
            calls = {
                "open": [],
                "archived": [("POST", f"/projects/{mine['project']}/archive")],
                "public": [
                    ("PUT", f"/groups/{theirs['listed_group']}?visibility=public"),
                    ("PUT", f"/groups/{theirs['group']}?visibility=public"),
                    ("PUT", f"/projects/{theirs['project']}?visibility=public"),
                ],
            }
            for method, path in calls[state]:
                response = await client.request(method, f"/api/v4{path}")
                assert response.is_success, response.text
        opened.keep()
        yield opened


async def offers(place: Place, who: str, side: str) -> dict[Offer, str]:
    """What the pages of a project offer them, each with a page that does."""
    person, objects, found = place.people[who], place.objects[side], dict[Offer, str]()
    await place.put_back()
    async with place.site.client(person, headers={"accept": "text/html"}) as client:
        for method, route in every_route(place.site.services):
            if method != "GET" or not route.startswith(OF_PROJECT) or route.endswith("/events"):
                continue
            path = call_of(method, route).filled(objects).path
            response = await client.get(path)
            if response.status_code == 200 and response.headers["content-type"].startswith("text/html"):
                found = dict.fromkeys(offers_of(response.text, path), path) | found
    return {offer: page for offer, page in found.items() if offer.url.startswith(f"/{objects['path']}")}


@pytest.mark.parametrize(
    ("place", "side", "who"),
    [pytest.param(state, side, who, id=f"{state}-{who}") for state, (side, them) in CASES.items() for who in them],
    indirect=["place"],
)
async def test_what_is_offered_is_not_refused(place: Place, side: str, who: str) -> None:
    offered, refused = await offers(place, who, side), []
    for offer, page in offered.items():
        parts = urlsplit(offer.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        body, headers = (urlencode(offer.fields).encode(), FORM) if offer.method == "POST" else (None, {})
        status = await place.status(Call(offer.method, path, body, headers), who, side)
        if status in REFUSED:
            refused.append(f"{page}: {offer.method} {offer.url} is {status}")
    assert not refused, "\n".join(sorted(refused))
    assert len(offered) > 50 or who == "guest"
