"""`perdure git-credential`: git's credential helper, which hands out the tokens of the user file.

Git calls it where `perdure login` has said so in git's configuration. The token is nowhere else: neither in the address
of a remote nor in git's files. Source of the protocol: git, "gitcredentials", "Custom Helpers"; "git-credential",
"Input/Output Format".
"""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import typer

from cli.output import PLAIN
from cli.user_file import Login, UserFile, read_user_file, user_file_path

COMMAND: Final = "git-credential"
_NOT_LOGGED_IN: Final = (
    "perdure: you are not logged in to {url}. Next: `perdure login {url} --git`, or give git your user name and an "
    "access token."
)
_REFUSED: Final = (
    "perdure: {url} refuses the token that you are logged in with: it was revoked, has expired or lacks a scope. "
    "Next: `perdure login {url} --git`."
)


def git_credential(
    operation: Annotated[str, typer.Argument(help="`get`, `store` or `erase`; git says which.")],
) -> None:
    """Give git the token of a server that you are logged in to; git calls this, people need not."""
    asked = read_request(sys.stdin)
    url, login = login_for(asked, read_user_file(user_file_path(os.environ)))
    if operation == "get":
        _answer(asked, url, login)
    elif operation == "erase" and login is not None and asked.get("password") == login.token:
        PLAIN.words(_REFUSED.format(url=url))
    # The user file alone keeps tokens: what git would store is left alone, as are operations of a later git


def read_request(lines: Iterable[str]) -> dict[str, str]:
    """What git tells of a credential: `name=value` lines up to an empty one."""
    asked: dict[str, str] = {}
    for line in lines:
        name, found, value = line.rstrip("\n").partition("=")
        if not found:
            break
        asked[name] = value
    return asked


def login_for(asked: Mapping[str, str], known: UserFile) -> tuple[str, Login | None]:
    """The server that git means and the login there, None without one.

    Git leaves the path out unless `credential.useHttpPath` is set: a server below a path of its host is then found
    where it is the only one of that host.
    """
    host = f"{asked.get('protocol', '')}://{asked.get('host', '').lower()}"
    wanted = f"{host}/{asked.get('path', '')}"
    fitting = [url for url in known.servers if f"{wanted.rstrip('/')}/".startswith(f"{url}/")]
    of_host = [url for url in known.servers if f"{url}/".startswith(f"{host}/")]
    if not fitting and not asked.get("path") and len(of_host) == 1:
        fitting = of_host
    url = max(fitting, key=len, default=host)
    return url, known.servers.get(url)


def _answer(asked: Mapping[str, str], url: str, login: Login | None) -> None:
    if login is None:
        PLAIN.words(_NOT_LOGGED_IN.format(url=url))
        return
    name = login.username or asked.get("username") or "token"  # the server looks at the token alone
    if asked.get("username", name) == name:  # another name in the address means somebody else
        PLAIN.data(f"username={name}\npassword={login.token}")
