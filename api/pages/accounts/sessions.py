"""The cookie that a browser gets when somebody has signed in."""

from fastapi import Request
from fastapi.responses import Response

from api.browser_visits import shown_sessions
from api.services import Services
from api.shown_tokens import cookies_of
from auth.session_token import COOKIE, LIFETIME, issue_session
from domain.pods.credentials import OF_HOST, bare_cookie
from models.repositories.accounts import accounts
from models.rows.accounts import UserRow


def begin_session(response: Response, services: Services, row: UserRow, *, token_id: int = 0) -> None:
    """Let a response carry a session of a person, who may have signed in with an access token.

    The cookie of a visitor stays when its session is over: by that the pod knows that they are to come again.
    """
    epoch, home = row.session_epoch, row.home_pod
    session = issue_session(services.key, row.id, services.clock(), epoch=epoch, token_id=token_id, home=home)
    response.set_cookie(
        cookies_of(services)[0],
        session,
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=services.settings.url.startswith("https:"),
    )


async def sign_in_as(response: Response, services: Services, row: UserRow, *, token_id: int = 0) -> None:
    """The same for somebody who has just signed in, which is remembered."""
    async with services.database.write() as connection:
        await accounts.note_sign_in(connection, row.id, services.clock())
    begin_session(response, services, row, token_id=token_id)


def forget_sessions(request: Request, response: Response, services: Services) -> list[int]:
    """Let a browser forget this pod's sessions; the numbers of other pods of which it shows some."""
    shown = shown_sessions(request, services)
    here = services.settings.pod_number
    own = {session.cookie for session in shown if session.pod == here} | {cookies_of(services)[0]}
    for name in sorted(own):
        response.delete_cookie(name, secure=name.startswith(OF_HOST), httponly=True, samesite="lax")
    return [session.pod for session in shown if session.pod != here and bare_cookie(session.cookie).startswith(COOKIE)]
