"""No page offers somebody what is refused to them: every link and button of every page, by role."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.amounts import amount
from tests.permissions.calls import Call, call_of
from tests.permissions.offers import Offer, offers_of
from tests.permissions.place import ROLES, Place, open_place
from tests.permissions.routes import every_route

REFUSED = {401, 403, 404}
ASK_FOR_PASSWORD = {"/users/sign_in", "/-/profile/password"}
FORM = {"content-type": "application/x-www-form-urlencoded"}

pytestmark = pytest.mark.slow  # some hundred pages, each link of which is followed


CASES = {
    "open": ("own", amount(["guest", "developer", "owner"], [*ROLES, "admin"])),
    "archived": ("own", ["developer", "owner"]),
    "public": ("foreign", ["anonymous", "owner"]),  # nobody of them, nor a stranger, is a member there
}
"""States of a project with the side that is brought into it, and who looks at its pages."""


@asynccontextmanager
async def place_in(folder: Path, state: str) -> AsyncIterator[Place]:
    """The installation with two sides, in a state that every call finds again."""
    async with open_place(folder) as opened:
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
    """What all pages offer them, each with a page that does."""
    person, objects, found = place.people[who], place.objects[side], dict[Offer, str]()
    await place.put_back()
    async with place.site.client(person, headers={"accept": "text/html"}) as client:
        for method, route in every_route(place.site.services):
            if method != "GET" or route.endswith("/events"):
                continue
            path = call_of(method, route).filled(objects).path
            response = await client.get(path)
            if response.status_code == 200 and response.headers["content-type"].startswith("text/html"):
                found = dict.fromkeys(offers_of(response.text, path), path) | found
    return {offer: page for offer, page in found.items() if is_asked(offer)}


def is_asked(offer: Offer) -> bool:
    """Whether it leads to the server, and asks for nothing that only a person knows."""
    return offer.url.startswith("/") and (offer.method == "GET" or offer.url not in ASK_FOR_PASSWORD)


async def refusals(place: Place, who: str, side: str) -> list[str]:
    """What is refused to them of all that pages offer."""
    offered, refused = await offers(place, who, side), []
    assert len(offered) > (10 if who == "guest" else 100)
    for offer, page in offered.items():
        parts = urlsplit(offer.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        body, headers = (urlencode(offer.fields).encode(), FORM) if offer.method == "POST" else (None, {})
        status = await place.status(Call(offer.method, path, body, headers), who, side)
        if status in REFUSED:
            refused.append(f"{who} on {page}: {offer.method} {offer.url} is {status}")
    return refused


@pytest.mark.parametrize("state", CASES)
async def test_what_is_offered_is_not_refused(tmp_path: Path, state: str) -> None:
    side, people = CASES[state]
    async with place_in(tmp_path, state) as place:
        refused = [line for who in people for line in await refusals(place, who, side)]
    assert not refused, "\n".join(sorted(refused))
