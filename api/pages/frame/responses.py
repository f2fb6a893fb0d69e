"""Pages as responses: the frame around them, and headers that let nothing foreign in."""

from typing import Any, Final
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse

from api.pages.frame.live_parts import Fragment
from api.pages.frame.templates import render
from auth.permissions import Caller

SECURITY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

NOTICES: Final = {
    "kept": "Your request is kept and will be carried out in a moment; this page shows it as soon as it happens.",
    "password": "Your password is changed.",
    "revoked": "The access token is revoked.",
    "saved": "Saved.",
    "removed": "Removed.",
}
"""What `?notice=` may say."""


def page(template: str, caller: Caller, status: int = 200, **values: Any) -> HTMLResponse:
    """A page."""
    return HTMLResponse(render(template, caller=caller, **values), status, SECURITY)


def address_of_page(request: Request) -> str:
    """Path and query of a page, as a browser asks for it again."""
    query = f"?{request.url.query}" if request.url.query else ""
    return quote(request.scope["path"], safe="/-._~:@!$&'()*+,;=") + query


def live_page(
    template: str, request: Request, caller: Caller, live: Fragment, events: str, **values: Any
) -> HTMLResponse:
    """A page whose `live` part is replaced by what comes from the address `events`."""
    notice = NOTICES.get(request.query_params.get("notice", ""), "")
    query = f"?{request.url.query}" if request.url.query else ""
    here = address_of_page(request)
    return page(template, caller, live=live, events=events + query, notice=notice, here=here, **values)
