"""Errors for git: it prints the body of a refusal as `remote: ...` if that is plain text, and hides any other.

Only of the first call of a fetch or push, `info/refs`: what goes wrong in the second one is told within git's protocol
(`api.git_http`). Source of the rule: git's `remote-curl.c`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from starlette.exceptions import HTTPException

from domain.errors import PerdureError

Handler: TypeAlias = Callable[[Request, Exception], Awaitable[Response]]

_ENDS: Final = (".git/info/refs", ".git/git-upload-pack", ".git/git-receive-pack")


def add_git_errors(app: FastAPI) -> None:
    """Put plain texts before the JSON handlers that `app` already has."""
    for kind in (PerdureError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _or_text(app.exception_handlers[kind]))


def speaks_git(path: str) -> bool:
    """Whether a call of this path is one of git's smart HTTP."""
    return path.endswith(_ENDS)


def _or_text(json: Any) -> Handler:
    async def handle(request: Request, error: Exception) -> Response:
        return readable_by_git(request, await json(request, error))

    return handle


def readable_by_git(request: Request, response: Response) -> Response:
    """A refusal as JSON as plain text where git calls, which shows nothing else; as it is for everybody else."""
    if not speaks_git(request.url.path):
        return response
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return PlainTextResponse(f"{_words(bytes(response.body))}\n", response.status_code, headers)


def _words(body: bytes) -> str:
    """The message of an error as JSON: a text, or faults by what they are of."""
    document = orjson.loads(body)
    said = document.get("message", "") if isinstance(document, Mapping) else document
    if isinstance(said, Mapping):
        lists = (faults if isinstance(faults, list) else [faults] for faults in said.values())
        return "\n".join(str(fault) for faults in lists for fault in faults)
    return str(said)
