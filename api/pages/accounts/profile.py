"""The page on which people change their own password."""

from typing import Annotated, Final

from fastapi import Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import CallerDep, ServicesDep, key_of
from api.pages.accounts.sessions import begin_session
from api.pages.frame.responses import NOTICES, page
from api.routes import RouteList
from api.services import Services
from api.v4.origin import require_our_pages
from application.accounts.proof_of_identity import proven
from application.audit import record
from application.pods.visitors import require_own
from auth.passwords import MAX_LENGTH, SHORTEST, fault_of
from auth.permissions import Caller
from models.repositories.accounts import accounts, sessions
from models.repositories.installation.audit import Entity, Happened

PASSWORD: Final = "/-/profile/password"  # noqa: S105  # an address
_SIGN_IN: Final = f"/users/sign_in?next={PASSWORD}"

router = RouteList(dependencies=[Depends(require_our_pages)])

Secret = Annotated[str, Form(max_length=255)]


def _form(caller: Caller, status: int = 200, *, error: str = "", notice: str = "") -> Response:
    values = {"error": error, "notice": notice, "shortest": SHORTEST, "longest": MAX_LENGTH, "address": PASSWORD}
    return page("accounts/password.html", caller, status, **values)


async def _require_own(services: Services, caller: Caller) -> None:
    """Raise `Forbidden` for visitors, whose password is at home."""
    if caller.is_visitor:
        async with services.database.read() as connection:
            require_own(services, await accounts.get(connection, caller.user_id), "set the password")


@router.get(PASSWORD)
async def form(request: Request, caller: CallerDep, services: ServicesDep) -> Response:
    """The form."""
    if not caller.is_known:
        return RedirectResponse(_SIGN_IN, 303)
    await _require_own(services, caller)
    return _form(caller, notice=NOTICES.get(request.query_params.get("notice", ""), ""))


@router.post(PASSWORD)
async def change(
    request: Request, caller: CallerDep, services: ServicesDep, old: Secret = "", new: Secret = "", again: Secret = ""
) -> Response:
    """Set a new password, and end all sessions but this one. Whoever has no password yet shows an access token."""
    if not caller.is_known:
        return RedirectResponse(_SIGN_IN, 303)
    await _require_own(services, caller)
    if await proven(services, key_of(request, caller), caller.username, old) is None:
        return _form(caller, 401, error="The present password is not right. Nothing was changed.")
    fault = "differs from its repetition" if new != again else fault_of(new)
    if fault:
        return _form(caller, 400, error=f"The new password {fault}. Nothing was changed.")
    fresh, now = await services.passwords.hashed(new), services.clock()
    async with services.database.write() as connection:
        await accounts.change(connection, caller.user_id, password_hash=fresh)
        await sessions.end_all(connection, caller.user_id)
        entity = Entity("user", caller.user_id, caller.username)
        await record(connection, caller, entity, Happened("password_changed"), now)
        row = await accounts.get(connection, caller.user_id)
    response = RedirectResponse(f"{PASSWORD}?notice=password", 303)
    begin_session(response, services, row)
    return response
