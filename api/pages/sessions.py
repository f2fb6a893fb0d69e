"""The cookie that a browser gets when somebody has signed in."""

from fastapi.responses import Response

from api.services import Services
from auth.session_token import COOKIE, LIFETIME, issue_session
from models.repositories.accounts import accounts
from models.rows.accounts import UserRow


def begin_session(response: Response, services: Services, row: UserRow, *, token_id: int = 0) -> None:
    """Let a response carry a session of a person, who may have signed in with an access token."""
    session = issue_session(services.key, row.id, services.clock(), epoch=row.session_epoch, token_id=token_id)
    response.set_cookie(
        COOKIE,
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
