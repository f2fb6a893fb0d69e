"""What callers read whose name and secret open nothing.

Only the form of a secret is looked at: whether it is somebody's password is asked nowhere but at the page that signs
in, where a response is slow on purpose, and elsewhere guesses would learn from it.
"""

from collections.abc import Mapping
from typing import Final

from fastapi import Request

from api.basic_auth import basic_credentials
from api.shown_tokens import token_of
from auth.job_token import PREFIX as JOB
from auth.scopes import PERMITS, Use
from domain.pods.token_prefixes import DEPLOY, PERSONAL, REGISTRATION, RUNNER, RUNNER_BY_REGISTRATION, TRIGGER

UNAUTHORIZED: Final = "Unauthorized"
"""GitLab's whole response, which stays where nothing more is known."""
_NO_TOKEN: Final = f"That is no access token, which begins with {PERSONAL}; a password opens only the pages."
_BAD_TOKEN: Final = "That access token was revoked, has expired, is of another server, or its owner is blocked."  # noqa: S105
_RUNNER: Final = "That is the token of a runner, which opens only the jobs that it is given."
_BY_FORM_AT_GIT: Final = {
    PERSONAL: _BAD_TOKEN,
    DEPLOY: "That deploy token was revoked, has expired, is of another server, or has another user name.",
    JOB: "That job token opens nothing any more: its job has ended, or it is of another server.",
    RUNNER: _RUNNER,
    RUNNER_BY_REGISTRATION: _RUNNER,
    TRIGGER: "That is a trigger token, which only starts pipelines.",
    REGISTRATION: "That is a registration token, which only registers runners.",
}
"""What git is told of a secret that opens nothing, by how it begins."""
_BY_FORM_AT_REST: Final = {
    **_BY_FORM_AT_GIT,
    DEPLOY: "That is a deploy token, which only git and container tools take.",
}
_BASIC: Final = (
    f"{UNAUTHORIZED}: the API takes no user name and password, but an access token in the header PRIVATE-TOKEN."
)
_DENIED: Final = "HTTP Basic: Access denied."
_FOR_GIT: Final = (
    f"{_DENIED} {{why}}\n"
    "Use your user name and a personal access token as the password; it needs one of the scopes {scopes}.\n"
    "`perdure login {url} --git` gives git the one that you log in with, `perdure token create NAME` makes one.\n"
)


def refused_token(token: str) -> str:
    """What REST says of a token that is none of ours."""
    return UNAUTHORIZED if token.startswith((PERSONAL, JOB)) else f"{UNAUTHORIZED}. {_told(_BY_FORM_AT_REST, token)}"


def refused_call(request: Request, said: str) -> str:
    """What REST says of a call of nobody: more than `said` where a user name and password were shown."""
    shows_password = said == UNAUTHORIZED and not token_of(request) and basic_credentials(request)[1]
    return _BASIC if shows_password else said


def refused_git(secret: str, use: Use, url: str) -> str:
    """What git prints when a name and secret are refused, or none were shown; `url` is the server's address."""
    why = _told(_BY_FORM_AT_GIT, secret) if secret else ""
    scopes = ", ".join(scope for scope, uses in PERMITS.items() if use in uses)
    return _FOR_GIT.format(why=why, scopes=scopes, url=url).replace(" \n", "\n")


def refused_at_registry(secret: str) -> str:
    """What container tools print when a name and secret are refused."""
    return f"{_DENIED} {_told(_BY_FORM_AT_GIT, secret)}"


def _told(by_form: Mapping[str, str], secret: str) -> str:
    """What is said of a secret, as the table has it by its form."""
    return next((said for form, said in by_form.items() if secret.startswith(form)), _NO_TOKEN)
