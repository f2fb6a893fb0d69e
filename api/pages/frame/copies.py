"""What pages of a restored copy say: that it is one, and of which installation."""

from contextvars import ContextVar
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from models.rows.installation import COPY

JOBS: Final = "Jobs that somebody starts here have the variables of the original: a job that deploys does."
_NOTICE: ContextVar[str] = ContextVar("notice_of_a_copy", default="")


def notice_of_copy() -> str:
    """The words on a page of a restored copy; empty where the installation is none."""
    return _NOTICE.get()


class PagesOfCopy:
    """Middleware around the pages of a copy: it lets their frame say so."""

    def __init__(self, app: ASGIApp, *, original: str) -> None:
        """`original` is the id of the installation that was backed up."""
        self._app = app
        self._notice = f"{COPY.format(original=original)} {JOBS}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on."""
        before = _NOTICE.set(self._notice)
        try:
            await self._app(scope, receive, send)
        finally:
            _NOTICE.reset(before)
