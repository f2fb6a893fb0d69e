"""`perdure token`: access tokens (GitLab's `/personal_access_tokens`)."""

from typing import Annotated, Any, Final

import typer

from cli.output import keep_private
from cli.remote import completion
from cli.remote.documents import NEW_TOKEN, TOKEN, document, documents
from cli.remote.invocation import Invocation, verb
from cli.remote.moments import ago
from cli.remote.people import user_named
from domain.errors import Invalid

app = typer.Typer(help="Create, list and revoke access tokens.", no_args_is_help=True)

_IN_USE: Final = "self"

UserOption = Annotated[
    str, typer.Option("--user", help="Of somebody else, for administrators.", autocompletion=completion.users)
]


@verb(app, "create", project=False)
def create_token(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scopes: Annotated[list[str] | None, typer.Option("--scope", help="What it opens; may be repeated.")] = None,
    expires_at: Annotated[str, typer.Option("--expires-at", metavar="YYYY-MM-DD", help="Its last day.")] = "",
    user: UserOption = "",
) -> None:
    """Make a token; prints it, this once."""
    wanted: dict[str, Any] = {"name": name, "scopes": scopes or ["api"]}
    wanted |= {"expires_at": expires_at} if expires_at else {}
    owner = f"/users/{user_named(call, user)['id']}" if user else "/user"
    keep_private()
    made = document(NEW_TOKEN, call.api.post(f"{owner}/personal_access_tokens", **wanted))
    if call.out.as_json:
        call.out.document(made)
        return
    call.out.words(f"Made token {made['id']} with {', '.join(made['scopes'])}. It is shown only now:")
    call.out.data(made["token"])


@verb(app, "list", project=False)
def list_tokens(
    call: Invocation,
    user: UserOption = "",
    everything: Annotated[bool, typer.Option("--all", help="Those too that are good no more.")] = False,
) -> None:
    """List tokens, without what they are."""
    wanted: dict[str, Any] = {} if everything else {"state": "active"}
    wanted["user_id"] = user_named(call, user)["id"] if user else call.api.get("/user")["id"]
    found = documents(TOKEN, call.api.listed("/personal_access_tokens", **wanted))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = (
        [
            str(one["id"]),
            one["name"],
            ",".join(one["scopes"]),
            "good" if one["active"] else "ended",
            one["expires_at"] or "never",
            ago(one["last_used_at"], call.now) if call.out.is_terminal else one["last_used_at"] or "",
        ]
        for one in found
    )
    call.out.table(("id", "name", "scopes", "state", "expires", "used"), rows)


@verb(app, "revoke", project=False, json=False)
def revoke_token(
    call: Invocation,
    token: Annotated[str, typer.Argument(help="Number of the token, or `self` for the one in use.")],
) -> None:
    """End a token: it opens nothing from now on."""
    if token != _IN_USE and not token.isdigit():
        raise Invalid("Give the number of the token, which is no secret; `perdure token list` shows it.")
    call.out.confirm(f"Revoke token {token} on {call.server.url}?")
    with call.naming(f"token {token}", "perdure token list"):
        call.api.delete(f"/personal_access_tokens/{token}")
    call.out.words(f"Revoked token {token}.")
