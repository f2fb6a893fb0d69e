"""Browsers that may be signed in at another pod: by which addresses they go home for a ticket, and back.

The ticket travels in a cookie that is sent to one address alone: no address, log or page has it, and no script is
needed (docs/pods.md, "Visitors").
"""

from typing import Final
from urllib.parse import quote

from fastapi import Request

from api.pages.frame.responses import address_of_page
from api.services import Services
from application.pods.other_pods import known_directory
from domain.pods.addresses import address_of, pod_in_path
from domain.pods.credentials import COOKIES, BrowserSession, sessions_in
from domain.pods.visits import leads_home

TICKETS: Final = "/users/visit"
"""Where a browser gets a ticket: the router leads it to the pod at which it is signed in."""
ARRIVALS: Final = "/-/visits"
"""Below it, by number: where each pod takes tickets."""
COOKIE: Final = f"{COOKIES}visit"
_NOT_PAGES: Final = ("/-/assets/", "/users/", f"{ARRIVALS}/")
"""Addresses that nobody is led away from."""


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page: neither the API nor git, and HTML is welcome."""
    path = request.url.path
    if path.startswith("/api/") or ".git/" in path or path.endswith("/events"):
        return False
    return "text/html" in request.headers.get("accept", "")


def is_deep_link(request: Request) -> bool:
    """Whether somebody visits a page that may be there for those who are signed in.

    The response is the same whether it is: to strangers a private project does not exist.
    """
    return request.method in {"GET", "HEAD"} and not request.url.path.startswith(_NOT_PAGES)


def shown_sessions(request: Request, services: Services) -> list[BrowserSession]:
    """The sessions of pods that a browser shows, as a router sees them; none without a cluster."""
    directory = known_directory(services)
    return [] if directory is None else sessions_in(request.headers, directory)


def way_home(request: Request, services: Services) -> str:
    """The address by which the reader of a page may come back as somebody; empty where there is no such way."""
    if services.cluster is None or not (is_deep_link(request) and wants_page(request)):
        return ""
    here = services.settings.pod_number
    return way_to(here, address_of_page(request)) if leads_home(shown_sessions(request, services), here) else ""


def is_over(request: Request, services: Services) -> bool:
    """Whether the reader of a page, who is nobody now, has been signed in here and may come again with a new ticket."""
    if not way_home(request, services):
        return False
    return any(session.pod == services.settings.pod_number for session in shown_sessions(request, services))


def way_to(pod_number: int, then: str) -> str:
    """The address that gives a ticket for a pod, whose page `then` is."""
    return f"{TICKETS}?pod={pod_number}&next={quote(then, safe='')}"


def pod_elsewhere(services: Services, then: str) -> int | None:
    """The number of the pod that one of our addresses leads to; None for this one, and for what names no pod."""
    directory = known_directory(services)
    if directory is None:
        return None
    path = then.partition("?")[0].partition("#")[0]
    pod = pod_in_path(address_of("GET", path), path, directory)
    return pod if pod != services.settings.pod_number and pod in directory.by_number else None
