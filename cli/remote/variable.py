"""`perdure variable`: CI/CD variables of a project, a group or the instance (GitLab's `/projects/:id/variables`)."""

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from cli.output import keep_private
from cli.remote import completion
from cli.remote.documents import VARIABLE, document, documents
from cli.remote.invocation import Invocation, verb
from domain.errors import Invalid, Refused

app = typer.Typer(help="CI/CD variables of a project, a group or the instance.", no_args_is_help=True)

KeyArgument = Annotated[str, typer.Argument(metavar="NAME", help="The variable.", autocompletion=completion.variables)]
GroupOption = Annotated[
    str,
    typer.Option(
        "--group", metavar="PATH", help="Of this group instead of a project.", autocompletion=completion.groups
    ),
]
InstanceOption = Annotated[bool, typer.Option("--instance", help="Of every project; for administrators.")]
ScopeOption = Annotated[str, typer.Option("--scope", help="Environments that get it: `production`, `review/*`.")]
_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class _Owner:
    """Whose variables they are."""

    name: str
    home: str

    def route(self, key: str = "") -> str:
        """The route of all of them, or of one."""
        return f"{self.home}/variables/{quote(key, safe='')}" if key else f"{self.home}/variables"


@verb(app, "list")
def list_variables(call: Invocation, group: GroupOption = "", instance: InstanceOption = False) -> None:
    """List variables, without their values (--json has them)."""
    keep_private()
    found = documents(VARIABLE, _listed(call, _owner(call, group, instance)))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = ([one["key"], one["environment_scope"] or "", one["variable_type"], _flags(one)] for one in found)
    call.out.table(("name", "scope", "type", ""), rows, "There are none. Next: `perdure variable set NAME < FILE`.")


@verb(app, "get")
def get_variable(
    call: Invocation,
    key: KeyArgument,
    group: GroupOption = "",
    instance: InstanceOption = False,
    scope: ScopeOption = "",
) -> None:
    """Print the value of a variable."""
    keep_private()
    owner = _owner(call, group, instance)
    with call.naming(f"variable {key}", "perdure variable list"), _asking_for_scope(key):
        found = document(VARIABLE, call.api.get(owner.route(key), **_filter(scope)))
    if call.out.as_json:
        call.out.document(found)
    elif found["value"] is None:
        raise Invalid(f"{key} is hidden: the server shows its value to nobody. Set it again if it is lost.")
    elif found["value"].endswith("\n"):
        sys.stdout.write(found["value"])
    else:
        call.out.data(found["value"])


@verb(app, "set")
def set_variable(
    call: Invocation,
    key: KeyArgument,
    group: GroupOption = "",
    instance: InstanceOption = False,
    scope: ScopeOption = "",
    masked: Annotated[bool | None, typer.Option("--masked/--no-masked", help="Not shown in logs.")] = None,
    protected: Annotated[
        bool | None, typer.Option("--protected/--no-protected", help="Only for protected branches and tags.")
    ] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Masked, and never shown again to anybody.")] = False,
    raw: Annotated[bool | None, typer.Option("--raw/--no-raw", help="`$` in the value means nothing.")] = None,
    file: Annotated[bool | None, typer.Option("--file/--no-file", help="Jobs get the path of a file with it.")] = None,
    description: Annotated[str, typer.Option("--description", help="What it is for.")] = "",
) -> None:
    """Make or change a variable. Its value comes from standard input, or is asked for: no history keeps it."""
    wanted: dict[str, Any] = {"masked": masked, "protected": protected, "raw": raw, "description": description or None}
    if file is not None:
        wanted["variable_type"] = "file" if file else "env_var"
    wanted = {name: value for name, value in wanted.items() if value is not None}
    wanted["value"] = _value(call, key, keep_end=bool(file))
    _show(call, _written(call, _owner(call, group, instance), key, scope, wanted, hidden=hidden))


@verb(app, "delete", json=False)
def delete_variable(
    call: Invocation,
    key: KeyArgument,
    group: GroupOption = "",
    instance: InstanceOption = False,
    scope: ScopeOption = "",
) -> None:
    """Remove a variable."""
    owner = _owner(call, group, instance)
    call.out.confirm(f"Remove variable {key} of {owner.name}?")
    with call.naming(f"variable {key}", "perdure variable list"), _asking_for_scope(key):
        call.api.delete(owner.route(key), **_filter(scope))
    call.out.words(f"Removed {key}.")


def _written(
    call: Invocation, owner: _Owner, key: str, scope: str, wanted: dict[str, Any], *, hidden: bool
) -> dict[str, Any]:
    """Change the variable of this name and scope, or make it. Only a new one can become hidden."""
    there = [one for one in _listed(call, owner) if one["key"] == key]
    same = [one for one in there if (one.get("environment_scope") or _ALL) == (scope or _ALL)]
    if not same:
        if hidden:
            wanted = {**wanted, "masked_and_hidden": True}
        made: dict[str, Any] = call.api.post(owner.route(), key=key, environment_scope=scope or _ALL, **wanted)
        return made
    if hidden and not same[0].get("hidden"):
        raise Invalid(
            f"{key} exists and was shown before, so it cannot become hidden. Delete it first, and set it again."
        )
    changed: dict[str, Any] = call.api.put(owner.route(key), **wanted, **_in_body(scope))
    return changed


def _value(call: Invocation, key: str, *, keep_end: bool) -> str:
    """The value; the end of its last line is the shell's, except in a file."""
    if sys.stdin.isatty():
        if not call.out.may_ask:
            raise Invalid(f"The value is missing. Next: `perdure variable set {key} < FILE`.")
        return getpass.getpass(f"Value of {key}: ", stream=sys.stderr)
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"The value is no UTF-8 text (byte {error.start}); encode it, as with `base64`.") from error
    return text if keep_end else text.removesuffix("\n").removesuffix("\r")


def _listed(call: Invocation, owner: _Owner) -> list[dict[str, Any]]:
    with call.naming(owner.name, "perdure group list" if owner.name.startswith("group ") else "perdure project list"):
        return call.api.listed(owner.route())


def _owner(call: Invocation, group: str, instance: bool) -> _Owner:  # two options of the command
    """Whose variables are meant. Raises `Invalid` where two are named."""
    if instance and group:
        raise Invalid("--instance and --group name two owners; give one of them.")
    if instance:
        return _Owner("the instance", "/admin/ci")
    return (
        _Owner(f"group {group}", f"/groups/{quote(group, safe='')}")
        if group
        else _Owner(f"project {call.project}", call.home)
    )


def _filter(scope: str) -> dict[str, str]:
    return {"filter[environment_scope]": scope} if scope else {}


@contextmanager
def _asking_for_scope(key: str) -> Iterator[None]:
    """Say how to name one of several variables of one name."""
    try:
        yield
    except (Invalid, Refused) as error:
        if "environment_scope" not in str(error):
            raise
        raise Invalid(f"There are several variables {key}, by their environments. Add `--scope NAME`.") from error


def _in_body(scope: str) -> dict[str, Any]:
    return {"filter": {"environment_scope": scope or _ALL}}


def _flags(variable: dict[str, Any]) -> str:
    return ", ".join(name for name in ("protected", "masked", "hidden", "raw") if variable[name])


def _show(call: Invocation, found: dict[str, Any]) -> None:
    """What was written; never the value."""
    shown = document(VARIABLE, found)
    if call.out.as_json:
        call.out.document({**shown, "value": None})
        return
    call.out.fields({"name": shown["key"], "scope": shown["environment_scope"] or "", "flags": _flags(shown)})
