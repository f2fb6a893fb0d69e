"""Addresses of reports: who may use one, and under which policy a page of a report runs."""

import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urlsplit

from fastapi import Request

from api.call_turns import counts_for
from api.deps import address_of, key_of
from api.pages.jobs.artifact_access import JobArchive, archive_of_job
from api.services import Services
from api.shown_tokens import session_of
from application.access import access_to, caller_from
from auth.archive_ticket import OVER, ArchiveTicket, issue_archive_ticket, read_archive_ticket
from auth.permissions import NOBODY, Caller
from auth.session_token import read_session
from domain.errors import NotFound
from models.repositories.accounts import sessions

_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9a-fA-F:.]{2,45}\](:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class TicketHolder:
    """Whoever shows a good ticket of an archive; `base` is where the files of the report are."""

    archive: JobArchive
    base: str


def report_base(request: Request, services: Services, caller: Caller, found: JobArchive) -> str:
    """Where the files of an archive are for half an hour, as a path that ends with a slash; one for each page.

    Not longer than what the caller shows is good: an access token, or the session of a browser.
    """
    ticket, until = ArchiveTicket(caller.user_id, found.job.id, found.row.id, token_id=caller.token_id), None
    if caller.is_known and caller.scopes is None:
        session = read_session(services.key, session_of(request))
        ticket = replace(ticket, session_id=session.session_id, epoch=session.epoch, token_id=session.token_id)
        until = session.expires_at
    return f"{found.address}/report/{issue_archive_ticket(services.key, ticket, services.clock(), until)}/"


def report_address(request: Request, services: Services, caller: Caller, found: JobArchive, file: str) -> str:
    """The address of one file there."""
    return report_base(request, services, caller, found) + quote(file)


async def holder_of_ticket(request: Request, services: Services, path: str, job_id: int, ticket: str) -> TicketHolder:
    """Whoever shows a ticket, with the rights that they have now. Cookies count for nothing here. Raises `NotFound`."""
    shown = read_archive_ticket(services.key, ticket)
    caller = await _person(services, shown, address_of(request))
    await counts_for(request, key_of(request, caller))
    project = await access_to(services, caller, path)
    found = await archive_of_job(services, project, job_id)
    if (shown.job_id, shown.artifact_id) != (found.job.id, found.row.id):
        raise NotFound("The address is not one of this archive: open the report from the page of its job.")
    return TicketHolder(found, f"{found.address}/report/{ticket}/")


async def _person(services: Services, shown: ArchiveTicket, address: str) -> Caller:
    if not shown.user_id:
        return NOBODY
    asked = (shown.user_id, shown.epoch, shown.session_id, shown.token_id)
    async with services.database.read() as connection:
        row = await sessions.person_of(connection, *asked) if shown.is_backed else None
    if row is None:
        raise NotFound(OVER)
    return caller_from(row, address=address)


def report_policy(request: Request, services: Services, holder: TicketHolder) -> str:
    """What a page of a report may do: run its scripts in an origin of nobody, and fetch the files of its archive."""
    places = " ".join(places_of(request, services, holder.base))
    return (
        "sandbox allow-scripts; "
        f"default-src {places} data: blob: 'unsafe-inline' 'unsafe-eval'; "
        f"base-uri {places}; form-action 'none'; object-src 'none'"
    )


def places_of(request: Request, services: Services, base: str) -> tuple[str, ...]:
    """`base` as policies name it, at the address that users know and at the one that was called."""
    known = urlsplit(services.settings.url)
    host = request.headers.get("host", "")
    called = (f"{known.scheme}://{host}{base}",) if host != known.netloc and _HOST.fullmatch(host) else ()
    return (f"{known.scheme}://{known.netloc}{base}", *called)
