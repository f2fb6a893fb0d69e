"""`perdure member`: who may do what in a project or a group (GitLab's `/projects/:id/members`)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from auth.permissions import LEVEL_NAMES
from cli.remote import completion
from cli.remote.documents import MEMBER, document
from cli.remote.invocation import Invocation, verb
from cli.remote.people import find_user, no_user, user_named
from domain.errors import Invalid, NotFound, Refused

app = typer.Typer(help="Who may do what in a project or a group.", no_args_is_help=True)


class Role(StrEnum):
    """GitLab's names of access levels."""

    GUEST = "guest"
    REPORTER = "reporter"
    DEVELOPER = "developer"
    MAINTAINER = "maintainer"
    OWNER = "owner"


_LEVELS: Final = {Role(name): level for level, name in LEVEL_NAMES.items()}

UserArgument = Annotated[
    str, typer.Argument(metavar="USERNAME", help="The user name.", autocompletion=completion.users)
]
GroupOption = Annotated[
    str,
    typer.Option(
        "--group", metavar="PATH", help="Of this group instead of a project.", autocompletion=completion.groups
    ),
]
_NO_USER: Final = "User Not Found"
"""What a server says of a name that nobody has, neither there nor in another pod."""
_EXPIRES: Final[dict[str, Any]] = {"metavar": "YYYY-MM-DD"}


@dataclass(frozen=True, slots=True)
class _Place:
    """A project or group that has members."""

    name: str
    route: str
    words: str
    """What names it on the command line."""


@verb(app, "list")
def list_members(
    call: Invocation,
    group: GroupOption = "",
    everybody: Annotated[bool, typer.Option("--all", help="Those of the groups above too.")] = False,
) -> None:
    """List the members, with their roles."""
    place = _place(call, group)
    with call.naming(place.name, _listing(group)):
        found = call.api.listed(f"{place.route}/all" if everybody else place.route)
    shown = [_shown(one) for one in found]
    if call.out.as_json:
        call.out.document(shown)
        return
    rows = ([one["username"], one["role"], one["expires_at"] or "", _state(one)] for one in shown)
    empty = "There are none" + (
        "." if everybody else f" of its own; --all shows those of the groups above. Next: {_adding(place)}."
    )
    call.out.table(("username", "role", "until", ""), rows, empty)


@verb(app, "add")
def add_member(
    call: Invocation,
    user: UserArgument,
    group: GroupOption = "",
    role: Annotated[Role, typer.Option("--role", help="What they may do.")] = Role.DEVELOPER,
    expires_at: Annotated[str, typer.Option("--expires-at", help="The day on which it ends.", **_EXPIRES)] = "",
) -> None:
    """Give a person a role in a project, or in a group and all that it holds."""
    place = _place(call, group)
    known = find_user(call, user)
    wanted = {"username": user} if known is None else {"user_id": known["id"]}
    wanted |= {"access_level": _LEVELS[role], **({"expires_at": expires_at} if expires_at else {})}
    try:
        with call.naming(place.name, _listing(group)):
            made = call.api.post(place.route, **wanted)
    except Refused as error:
        change = f"`perdure member edit {user} --role {role}{place.words}`"
        raise Refused(f"{user} is a member of {place.name} already ({error}). Next: {change}.") from error
    except NotFound as error:
        if known is None and _NO_USER in str(error):
            raise no_user(call, user) from error
        raise
    _show(call, made, place)


@verb(app, "edit")
def edit_member(
    call: Invocation,
    user: UserArgument,
    group: GroupOption = "",
    role: Annotated[Role | None, typer.Option("--role", help="What they may do.")] = None,
    expires_at: Annotated[
        str | None, typer.Option("--expires-at", help="The day on which it ends; empty for never.", **_EXPIRES)
    ] = None,
) -> None:
    """Change the role of a member, or its end; what is not given stays."""
    if role is None and expires_at is None:
        raise Invalid("Nothing to change: give --role or --expires-at.")
    place = _place(call, group)
    route = f"{place.route}/{user_named(call, user)['id']}"
    with call.naming(f"member {user} of {place.name}", f"perdure member list{place.words}"):
        before = call.api.get(route)
        level = before["access_level"] if role is None else _LEVELS[role]
        last = before["expires_at"] if expires_at is None else expires_at or None
        changed = call.api.put(route, access_level=level, expires_at=last)
    _show(call, changed, place)


@verb(app, "remove", json=False)
def remove_member(call: Invocation, user: UserArgument, group: GroupOption = "") -> None:
    """End a membership; roles in groups above stay."""
    place = _place(call, group)
    found = user_named(call, user)
    call.out.confirm(f"Remove {user} from {place.name}?")
    with call.naming(f"member {user} of {place.name}", f"perdure member list{place.words}"):
        call.api.delete(f"{place.route}/{found['id']}")
    call.out.words(f"{user} is no member of {place.name} any more.")


def _place(call: Invocation, group: str) -> _Place:
    """What is meant. Raises `Invalid` where a project is named too."""
    if group and call.project_flag:
        raise Invalid("--group and --project name two places; give one of them.")
    if group:
        return _Place(f"group {group}", f"/groups/{quote(group, safe='')}/members", f" --group {group}")
    words = f" --project {call.project_flag}" if call.project_flag else ""
    return _Place(f"project {call.project}", f"{call.home}/members", words)


def _listing(group: str) -> str:
    return "perdure group list" if group else "perdure project list"


def _adding(place: _Place) -> str:
    return f"`perdure member add USERNAME{place.words}`"


def _shown(member: dict[str, Any]) -> dict[str, Any]:
    level = member["access_level"]
    return document(MEMBER, {**member, "role": LEVEL_NAMES.get(level, str(level))})


def _state(member: dict[str, Any]) -> str:
    return "" if member["state"] == "active" else str(member["state"])


def _show(call: Invocation, found: dict[str, Any], place: _Place) -> None:
    shown = _shown(found)
    if call.out.as_json:
        call.out.document(shown)
        return
    until = f" until {shown['expires_at']}" if shown["expires_at"] else ""
    call.out.words(f"{shown['username']} is {shown['role']} of {place.name}{until}.")
