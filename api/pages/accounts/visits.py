"""The way of a browser from pod to pod: home for a ticket, and with it to the pod whose page somebody wants to see."""

from typing import Annotated
from urllib.parse import quote

from fastapi import Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from api.browser_visits import ARRIVALS, COOKIE, TICKETS
from api.deps import ServicesDep, address_of, proof_of_session
from api.pages.accounts.sessions import forget_sessions, sign_in_as
from api.pages.accounts.sign_in import inside, sign_in_page
from api.routes import RouteList
from api.services import Services
from api.shown_tokens import session_of
from application.pods.cluster import Cluster
from application.pods.visit_tickets import ticket_for
from application.pods.visitors import arrived
from domain.errors import NotFound, Unauthenticated
from domain.pods.credentials import cookie_name
from domain.pods.directory import MAX_POD_NUMBER
from domain.pods.visits import TICKET_FOR

router = RouteList()

Next = Annotated[str, Query(alias="next")]


def _cluster_of(services: Services) -> Cluster:
    """The cluster. Raises `NotFound` for a pod that is alone."""
    if services.cluster is None:
        raise NotFound("Not Found")
    return services.cluster


@router.get(TICKETS)
async def ticket(
    request: Request, services: ServicesDep, pod: Annotated[int, Query(ge=0, le=MAX_POD_NUMBER)], then: Next = "/"
) -> Response:
    """Send a person of this pod to another one, with a ticket; whoever is not signed in goes back without one."""
    cluster, then = _cluster_of(services), inside(then)
    shown = session_of(request)
    proof = await proof_of_session(services, shown) if shown else None
    if proof is None and shown:
        # Without the session that is over there is no second way here: the other pod shows what it shows to anybody.
        response = _redirect(then)
        forget_sessions(request, response, services)
        return response
    if proof is None or proof.row.home_pod is not None:
        return sign_in_page(services, then=then)
    if pod == cluster.pod_number:
        return _redirect(then)
    response = _redirect(f"{ARRIVALS}/{pod}?next={quote(then, safe='')}")
    response.set_cookie(
        _cookie_of(services),
        await ticket_for(services, cluster, proof, pod),
        max_age=int(TICKET_FOR.total_seconds()),
        path=f"{ARRIVALS}/{pod}",
        httponly=True,
        samesite="lax",
        secure=services.settings.url.startswith("https:"),
    )
    return response


@router.get(f"{ARRIVALS}/{{pod}}")
async def arrival(
    request: Request, services: ServicesDep, pod: Annotated[int, Path(ge=0, le=MAX_POD_NUMBER)], then: Next = "/"
) -> Response:
    """Begin the session of a visitor who brings a ticket; each is taken once."""
    cluster, then = _cluster_of(services), inside(then)
    if pod != cluster.pod_number:
        raise NotFound("Not Found")
    try:
        came = await arrived(services, cluster, request.cookies.get(_cookie_of(services), ""), address_of(request))
    except Unauthenticated as error:
        response = sign_in_page(services, 401, then=then, error=str(error))
        forget_sessions(request, response, services)
    else:
        response = _redirect(then)
        await sign_in_as(response, services, came.row, token_id=came.token_id)
    name, secure = _cookie_of(services), services.settings.url.startswith("https:")
    response.delete_cookie(name, path=f"{ARRIVALS}/{pod}", secure=secure, httponly=True, samesite="lax")
    return response


def _cookie_of(services: Services) -> str:
    return cookie_name(COOKIE, services.settings.url, everywhere=False)


def _redirect(address: str) -> Response:
    return RedirectResponse(address, 303, {"Cache-Control": "no-store"})
