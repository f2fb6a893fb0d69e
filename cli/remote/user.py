"""`perdure user`: people, for administrators (GitLab's `/users`)."""

import secrets
import sys
from typing import Annotated, Any, Final

import typer

from cli.output import keep_private
from cli.remote import completion
from cli.remote.documents import NEW_USER, USER, document, documents
from cli.remote.invocation import Invocation, verb
from cli.remote.people import user_named
from cli.remote.project import LimitOption
from domain.errors import Invalid

app = typer.Typer(help="List, create, block and unblock people.", no_args_is_help=True)

_PASSWORD_BYTES: Final = 15
UserArgument = Annotated[
    str, typer.Argument(metavar="USERNAME", help="The user name.", autocompletion=completion.users)
]


@verb(app, "list", project=False)
def list_users(
    call: Invocation,
    search: Annotated[str, typer.Option("--search", help="A part of the user name or name.")] = "",
    limit: LimitOption = 30,
) -> None:
    """List people; administrators see their e-mail addresses too."""
    found = documents(USER, call.api.listed("/users", limit, search=search))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = (
        [str(one["id"]), one["username"], one["name"], one["email"] or "", one["state"], _kind(one)] for one in found
    )
    call.out.table(("id", "username", "name", "e-mail", "state", ""), rows)


@verb(app, "create", project=False)
def create_user(
    call: Invocation,
    username: Annotated[str, typer.Argument(metavar="USERNAME", help="Name to sign in with.")],
    email: Annotated[str, typer.Option("--email", help="E-mail address; nobody else may have it.")],
    name: Annotated[str, typer.Option("--name", help="Name for people; default: the user name.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="Make an administrator.")] = False,
    external: Annotated[bool, typer.Option("--external", help="Sees no internal projects.")] = False,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read the password from standard input, or ask for it.")
    ] = False,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="No password: sign in by token or provider.")
    ] = False,
) -> None:
    """Create a person; makes a password up and prints it, this once, unless one is given."""
    if stdin and no_password:
        raise Invalid("--stdin and --no-password contradict each other; give one of them.")
    made_up = "" if stdin or no_password else secrets.token_urlsafe(_PASSWORD_BYTES)
    wanted: dict[str, Any] = {"username": username, "name": name or username, "email": email}
    wanted |= {"admin": admin, "external": external}
    if no_password:
        wanted["force_random_password"] = True  # GitLab wants one of them; nobody is ever told what it is
    else:
        wanted["password"] = made_up or _given(call, username)
    keep_private()
    made = document(NEW_USER, {**call.api.post("/users", **wanted), "password": made_up or None})
    token = f"`perdure token create NAME --user {username}` makes one for git and this command."
    if call.out.as_json:
        call.out.document(made)
    elif made_up:
        call.out.words(f"Made user {username}. The password opens the pages and is shown only now; {token}")
        call.out.data(made_up)
    else:
        call.out.words(f"Made user {username}. A password opens the pages only; {token}")


@verb(app, "block", project=False, json=False)
def block_user(call: Invocation, user: UserArgument) -> None:
    """Make the tokens and sessions of a person worthless, until they are unblocked."""
    found = user_named(call, user)
    call.out.confirm(f"Block {user} on {call.server.url}?")
    call.api.post(f"/users/{found['id']}/block")
    call.out.words(f"Blocked {user}. Next: `perdure user unblock {user}` lets them in again.")


@verb(app, "unblock", project=False, json=False)
def unblock_user(call: Invocation, user: UserArgument) -> None:
    """Let a person in again: their tokens are good again."""
    call.api.post(f"/users/{user_named(call, user)['id']}/unblock")
    call.out.words(f"Unblocked {user}.")


def _given(call: Invocation, username: str) -> str:
    """The password: from a pipe, or typed twice without being seen. Raises `Invalid`."""
    if not sys.stdin.isatty():
        password = sys.stdin.readline().rstrip("\r\n")
    elif call.out.may_ask:
        question = f"Password of {username}"
        password = str(typer.prompt(question, hide_input=True, confirmation_prompt=True, err=True))
    else:
        password = ""
    if not password:
        raise Invalid(f"The password is missing. Next: `perdure user create {username} ... --stdin < FILE`.")
    return password


def _kind(user: dict[str, Any]) -> str:
    return ", ".join(word for field, word in (("is_admin", "administrator"), ("external", "external")) if user[field])
