"""`perdure login`, `logout` and `whoami`."""

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from cli.client import Api
from cli.git_settings import forget_our_helper, git_is_there, use_our_helper, uses_our_helper
from cli.remote import completion
from cli.remote.documents import IDENTITY, document
from cli.remote.invocation import Invocation, advice_for, with_common_options
from cli.remote.place import SERVER, Server, checked_server, checked_token
from cli.user_file import Login, changing
from domain.errors import Invalid, NotFound, Refused, Unauthenticated
from domain.pods.token_prefixes import PERSONAL

_NEAR: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_WITHOUT: Final = frozenset({"project", "server"})
CREDENTIALS: Final = Path(".perdure/credentials.json")
"""What the first start of an installation on this machine writes."""

_NO_TOKEN: Final = (
    f"That is no access token, which begins with {PERSONAL}, and was not sent to {{url}}. A password opens only the "
    "pages. Next: an administrator makes your first token by `perdure token create NAME --user YOU`; on the server's "
    "machine `perdure login --local` is the first administrator."
)


def _login(
    call: Invocation,
    url: Annotated[str, typer.Argument(help="Address of the server.", autocompletion=completion.servers)] = "",
    token: Annotated[str, typer.Option("--token", help="The token; the shell's history keeps what you write.")] = "",
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the token from standard input.")] = False,
    local: Annotated[bool, typer.Option("--local", help="Be the first administrator of `perdure up` here.")] = False,
    keep_default: Annotated[bool, typer.Option("--keep-default", help="Leave the default server as it is.")] = False,
    git: Annotated[
        bool | None, typer.Option("--git/--no-git", help="Let git use the token too; without it you are asked.")
    ] = None,
) -> None:
    """Log in to a server with an access token."""
    if local:
        url, token = _of_this_machine()
    else:
        url = checked_server(url or call.around.environment.get(SERVER, "") or _asked(call, "Address of the server"))
        token = _token(call, url, token, stdin=stdin)
        if not token.startswith(PERSONAL):
            raise Invalid(_NO_TOKEN.format(url=url))
    if url.startswith("http://") and urlsplit(url).hostname not in _NEAR:
        call.out.words(f"Warning: {url} is not encrypted; everybody on the way can read the token.")
    server = Server(url, "the command line", token)
    with closing(Api(url, token, advice=advice_for(server))) as api:
        user = api.get("/user")
    path = call.around.user_file_path
    with changing(path) as held:
        held[0] = held[0].with_login(url, Login(token, user["username"]), make_default=not keep_default)
    call.out.words(f"Logged in to {url} as {user['username']}; the token is in {path}.")
    _set_up_git(call, url, git)
    _show(call, server, user)


def _logout(
    call: Invocation,
    url: Annotated[str, typer.Argument(help="The server.", autocompletion=completion.servers)] = "",
    everywhere: Annotated[bool, typer.Option("--all", help="Forget all servers.")] = False,
) -> None:
    """Forget the token of a server, or of all with --all."""
    path = call.around.user_file_path
    with changing(path) as held:
        known = held[0].servers
        wanted = list(known) if everywhere else [checked_server(url) if url else held[0].default]
        missing = [one for one in wanted if one not in known]
        if missing:
            raise NotFound(
                f"You are not logged in to {missing[0] or 'any server'}; {path} has {', '.join(known) or 'none'}."
            )
        for one in wanted:
            held[0] = held[0].without(one)
            if git_is_there():
                forget_our_helper(one)
            call.out.words(f"Forgot the token of {one}. It is still good: `perdure token revoke` would end it.")


def _set_up_git(call: Invocation, url: str, wanted: bool | None) -> None:
    """Let git ask for the token here, if the person says so; where git does already nobody is asked again."""
    if wanted is None:
        if not git_is_there():
            return
        wanted = uses_our_helper(url) or _says_yes(call, url)
    elif not wanted and git_is_there():
        forget_our_helper(url)
    if wanted:
        use_our_helper(url)
        call.out.words(f"git uses it too: `git clone {url}/GROUP/NAME.git`.")
    else:
        call.out.words(f"git does not use it; `perdure login {url} --git` would let it.")


def _says_yes(call: Invocation, url: str) -> bool:
    if call.out.yes:
        return True
    return call.out.may_ask and typer.confirm(f"Shall git use this token for {url} too?", default=True, err=True)


def _whoami(call: Invocation) -> None:
    """Show who you are on the server."""
    if not call.server.token:
        raise Unauthenticated(f"You are not logged in to {call.server.url}. Next: `perdure login {call.server.url}`.")
    _show(call, call.server, call.api.get("/user"))


login = with_common_options(_login, _WITHOUT)
logout = with_common_options(_logout, _WITHOUT | {"as_json"})
whoami = with_common_options(_whoami, frozenset({"project"}))


def _show(call: Invocation, server: Server, user: dict[str, Any]) -> None:
    shown = document(IDENTITY, {**user, "server": server.url, "said_by": server.said_by})
    if call.out.as_json:
        call.out.document(shown)
    else:
        admin = "yes" if shown["is_admin"] else ""
        fields = {"username": shown["username"], "name": shown["name"], "server": server.url, "administrator": admin}
        call.out.fields(fields)


def _token(call: Invocation, url: str, token: str, *, stdin: bool) -> str:
    """The token: by flag, from a pipe, or typed without being seen. Raises `Invalid`."""
    if not token and (stdin or not sys.stdin.isatty()):
        token = sys.stdin.readline()
    if not token.strip():
        token = _asked(call, f"Access token (made at {url} or by `perdure token create`)", hidden=True)
    return checked_token(token)


def _asked(call: Invocation, question: str, *, hidden: bool = False) -> str:
    if not call.out.may_ask:
        raise Invalid(
            "The address or the token is missing, and nobody can be asked here. "
            "Next: `perdure login https://ADDRESS --stdin < FILE`."
        )
    return str(typer.prompt(question, hide_input=hidden, err=True))


def _of_this_machine() -> tuple[str, str]:
    from cli.installation.own_installation import another_at
    from cli.main import read_settings

    settings = read_settings()
    path = settings.home / CREDENTIALS.name
    try:
        data = json.loads(path.read_text())
        url, token = checked_server(str(data["url"])), str(data["token"])
        ours = str(data.get("installation_id", ""))  # nothing there was written by an older version
    except FileNotFoundError as error:
        raise NotFound(f"There is no {path}: nothing was started here. Next: `perdure up`.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is not readable as JSON with `url` and `token`: {error}.") from error
    what = "No token was sent there."
    if ours and (
        fault := another_at(url, ours, f"{path} says; `perdure up` writes it anew", what, settings.pod_number)
    ):
        raise Refused(fault)
    return url, token
