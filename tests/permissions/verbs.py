"""The table of verbs.txt: what changes something that is bound to a ref or an environment, and which rules it asks.

What its routes are called with is in `calls.py`; here is where that would be about another ref or environment than the
rules that are asked, or would change nothing.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from tests.permissions.calls import Call, call_of

FILE: Final = Path(__file__).with_name("verbs.txt")
WHOLE: Final = frozenset({"a new project or group", "whole"})
"""Why others change what is bound to refs all the same: all of it comes, goes away or is put away with its project."""


class Protection(StrEnum):
    """What is protected; `NOTHING` where the level alone counts."""

    NOTHING = "-"
    BRANCH = "branch"
    TAG = "tag"
    ENVIRONMENT = "environment"


@dataclass(frozen=True)
class Verb:
    """One way to do something to a noun. `least` is the role that may where nothing is protected."""

    noun: str
    verb: str
    asked: Protection
    least: str
    method: str
    route: str

    def __str__(self) -> str:
        return f"{self.verb} {self.noun} ({self.asked}): {self.method} {self.route}"


def verbs() -> list[Verb]:
    """The rows, one for each protection that they ask."""
    found = []
    for line in FILE.read_text().splitlines():
        if line.startswith(("#", "~")):
            continue
        noun, verb, asked, least, route = (word.strip() for word in line.split("|"))
        found += [Verb(noun, verb, Protection(one), least, *route.split()) for one in asked.split()]
    return found


def others() -> Iterator[tuple[str, str]]:
    """Why, and the beginning of the path, of what changes nothing of the kind."""
    for line in FILE.read_text().splitlines():
        if line.startswith("~"):
            why, _, paths = line[1:].partition("|")
            yield from ((why.strip(), path) for path in paths.split())


def is_below(route: str, beginning: str) -> bool:
    """Whether a route is one of those that begin so."""
    whole = beginning.removesuffix("$")
    return route == whole or (whole == beginning and route.startswith(f"{whole}/"))


_ZERO: Final = "0" * 40
_EMPTY_PACK: Final = b"PACK" + (2).to_bytes(4, "big") + bytes(4)


def _push(ref: str, sha: str) -> bytes:
    """What git sends to make a ref of a commit that is there."""
    command = f"{_ZERO} {sha} {ref}\0report-status\n".encode()
    return b"%04x%s0000" % (len(command) + 4, command) + _EMPTY_PACK + hashlib.sha1(_EMPTY_PACK).digest()


_FORM: Final = {"content-type": "application/x-www-form-urlencoded"}
_PIPELINE: Final = {"POST /api/v4/projects/{project}/pipeline", "POST /api/v4/projects/{project}/pipeline_schedules"}
_JOB: Final = ("/jobs/{job_id}/erase", "/jobs/{job_id}/retry", "/artifacts")
_BODIES: Final[Mapping[str, Any]] = {
    "POST /api/v4/projects/{project}/repository/commits/{sha}/cherry_pick": {"branch": "older"},
    "POST /api/v4/projects/{project}/protected_branches": {"name": "more"},
    "PUT /api/v4/projects/{project}/environments/{environment_id}": {"external_url": "https://more.example/"},
    "POST /{path}/-/environments/{environment_id}": b"url=https%3A%2F%2Fmore.example%2F&tier=other",
    "PUT /api/v4/projects/{project}/resource_groups/{key}": {"process_mode": "newest_first"},
    "POST /{path}/-/pipelines": b"ref=main",
    "POST /api/v4/projects/{project}/trigger/pipeline": {"ref": "main"},
    "POST /api/v4/projects/{project}/ref/{ref}/trigger/pipeline": {},
}
_OF_TAGS: Final[Mapping[str, Any]] = {
    "POST /api/v4/projects/{project}/pipeline": {"ref": "v1"},
    "POST /{path}/-/pipelines": b"ref=v1",
    "POST /api/v4/projects/{project}/trigger/pipeline": {"ref": "v1"},
    "POST /api/v4/projects/{project}/pipeline_schedules": {"description": "x", "ref": "v1", "cron": "0 1 * * *"},
    "POST /{path}/-/pipeline_schedules": {"description": "x", "ref": "v1", "cron": "0 1 * * *"},
}


def call_for(verb: Verb, sha: str) -> Call:
    """How it is done; `sha` is a commit that may be pushed."""
    call = call_of(verb.method, verb.route)
    name = f"{verb.method} {verb.route.replace('{path:project}', '{path}')}"
    bodies = {**_BODIES, **(_OF_TAGS if verb.asked is Protection.TAG else {})}
    body = bodies.get(name, call.body)
    if verb.route.endswith("receive-pack"):
        body = _push("refs/tags/w9" if verb.asked is Protection.TAG else "refs/heads/w9", sha)
    if verb.asked is Protection.TAG:
        call = replace(call, path=call.path.replace("/ref/main/", "/ref/v1/"))
    form = name.startswith("POST /{path}/-/") and isinstance(body, bytes)
    return replace(call, body=body, headers={**call.headers, **(_FORM if form else {})})
