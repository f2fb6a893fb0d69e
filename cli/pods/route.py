"""`perdure route`: where a router sends a request, and why."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from cli.json_option import JsonOption
from cli.main import read_settings
from domain.errors import Invalid
from domain.pods.directory import Directory, Pod
from domain.pods.routable_token import Route, read_route
from domain.pods.routing import Decision, Head, NeedsBody, Refusal, ToPod, decide, decide_by_body
from pods.directory_file import read_directory
from pods.directory_follower import look_up

_HEADER: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*): *(.+)")
_OF: Final = {
    "organisation_id": "organisation",
    "group_id": "group",
    "project_id": "project",
    "user_id": "user",
}


@dataclass(slots=True)
class _Request:
    """What the words of the command line say of a request; `token` is in its body."""

    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    token: str = ""


def route(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="REQUEST",
            help="An address, a token, or a header ('NAME: VALUE'); several make one request. `-` reads lines of them, "
            "so that no token stands on the command line.",
        ),
    ],
    method: Annotated[str, typer.Option("--request", "-X", help="The method.")] = "GET",
    directory: Annotated[
        Path | None,
        typer.Option(
            help="File with the pods and their organisations (JSON); without it the directory that the settings name, "
            "or its copy, else this pod alone."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say which pod an address, a header or a token leads to, and why; no pod is asked."""
    request = _request(words)
    known = _directory(directory)
    decision = _decided(request, method.upper(), known)
    document = _document(request, decision, known)
    typer.echo(json.dumps(document) if as_json else "\n".join(_lines(document)))


def _request(words: list[str]) -> _Request:
    request = _Request()
    for word in _given(words):
        header = _HEADER.fullmatch(word)
        if word.startswith(("/", "http://", "https://")):
            if request.path:
                raise Invalid(f"Two addresses, {request.path} and {word}: a request has one.")
            request.path = urlsplit(word).path or "/"
        elif header is not None:
            request.headers[header[1].lower()] = header[2]
        elif request.token:
            raise Invalid("A request has one token in its body; write others as headers ('PRIVATE-TOKEN: ...').")
        else:
            request.token = word
    if not (request.path or request.headers or request.token):
        raise Invalid("Nothing is asked: give an address, a token or a header.")
    return request


def _given(words: list[str]) -> Iterator[str]:
    """The words, and in the place of `-` the lines of standard input; without what is blank."""
    for word in words:
        lines = sys.stdin.buffer.read().decode(errors="replace").splitlines() if word == "-" else [word]
        yield from (line.strip() for line in lines if line.strip())


def _decided(request: _Request, method: str, known: Directory) -> Decision:
    if request.path or request.headers:
        decision = decide(Head(method, request.path or "/", request.headers), known)
        if not isinstance(decision, NeedsBody) or not request.token:
            return decision
        return decide_by_body(request.token, known, decision)
    return decide_by_body(request.token, known)


def _directory(file: Path | None) -> Directory:
    if file is not None:
        return read_directory(file)
    settings = read_settings()
    if settings.directory.url:
        return asyncio.run(look_up(settings))
    return Directory(0, (Pod(settings.pod_number, settings.pod),))


def _document(request: _Request, decision: Decision, known: Directory) -> dict[str, Any]:
    """`goes` is `pod`, `all`, `router`, `body` or `nowhere`; with `body` the pod is where a call goes without that."""
    goes = {"ToPod": "pod", "ToAll": "all", "ToRouter": "router", "NeedsBody": "body", "Refusal": "nowhere"}
    leads = decision.otherwise if isinstance(decision, NeedsBody) else decision
    pod = known.by_number[leads.pod] if isinstance(leads, ToPod) else None
    return {
        "goes": goes[type(decision).__name__],
        "pod": pod.number if pod else None,
        "name": pod.name if pod else None,
        "address": pod.address or None if pod else None,
        "status": decision.status if isinstance(decision, Refusal) else None,
        "why": decision.why,
        "token": _told(read_route(request.token)) if request.token else None,
    }


def _told(route: Route | None) -> dict[str, int]:
    """What a token says that it is of."""
    return {} if route is None else {name: value for key, name in _OF.items() if (value := getattr(route, key))}


def _lines(document: dict[str, Any]) -> list[str]:
    to = f"pod {document['pod']} ({document['name']})"
    where = {
        "pod": f"to {to}",
        "all": "to all pods",
        "router": "to no pod",
        "body": f"to the pod that {document['why']} names" + (f"; else to {to}" if document["name"] else ""),
        "nowhere": f"to no pod: the router answers {document['status']}",
    }
    address = f" at {document['address']}" if document["address"] else ""
    of = ", ".join(f"{name} {value}" for name, value in (document["token"] or {}).items())
    return [
        where[document["goes"]] + address,
        f"  because of {document['why']}",
        *([f"  the token is of {of}"] if of else []),
    ]
