"""What callers read whose name and secret open nothing.

Only the form of a secret is looked at: whether it is somebody's password is asked nowhere but at the page that signs
in, where an answer is slow on purpose, and elsewhere guesses would learn from it.
"""

from typing import Final

from fastapi import Request

from api.basic_auth import basic_credentials
from api.shown_tokens import token_of
from auth.job_token import PREFIX as JOB
from auth.scopes import PERMITS, Use
from auth.secret_token import PERSONAL

UNAUTHORIZED: Final = "401 Unauthorized"
"""GitLab's whole answer, which stays where nothing more is known."""
_NO_TOKEN: Final = f"That is no access token, which begins with {PERSONAL}; a password opens only the pages."
_BAD_TOKEN: Final = "That access token was revoked, has expired, is of another server, or its owner is blocked."  # noqa: S105
_BASIC: Final = (
    f"{UNAUTHORIZED}: the API takes no user name and password, but an access token in the header PRIVATE-TOKEN."
)
_FOR_GIT: Final = (
    "HTTP Basic: Access denied. {why}\n"
    "Use your user name and a personal access token as the password; it needs one of the scopes {scopes}.\n"
    "`perdure login {url} --git` gives git the one that you log in with, `perdure token create NAME` makes one.\n"
)


def refused_token(token: str) -> str:
    """What REST says of a token that is none of ours."""
    return UNAUTHORIZED if token.startswith((PERSONAL, JOB)) else f"{UNAUTHORIZED}. {_NO_TOKEN}"


def refused_call(request: Request, said: str) -> str:
    """What REST says of a call of nobody: more than `said` where a user name and password were shown."""
    shows_password = said == UNAUTHORIZED and not token_of(request) and basic_credentials(request)[1]
    return _BASIC if shows_password else said


def refused_git(secret: str, use: Use, url: str) -> str:
    """What git prints when a name and secret are refused, or none were shown; `url` is the server's address."""
    why = "" if not secret else _BAD_TOKEN if secret.startswith(PERSONAL) else _NO_TOKEN
    scopes = ", ".join(scope for scope, uses in PERMITS.items() if use in uses)
    return _FOR_GIT.format(why=why, scopes=scopes, url=url).replace(" \n", "\n")
