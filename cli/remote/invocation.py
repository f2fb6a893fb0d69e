"""One call of a command that talks to a server: its common options, and what they lead to.

A command is declared with `verb`, which gives it the options that all of them have.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from cli.client import Advice, Api
from cli.output import Output
from cli.remote import completion
from cli.remote.address import Pasted, is_address, read_address
from cli.remote.place import CommandContext, Server, find_project, find_server, remote_project
from domain.errors import Forbidden, Invalid, NotFound, Unauthenticated, Unavailable

_PANEL: Final = "Options of all commands"

ServerOption = Annotated[
    str,
    typer.Option(
        "--server",
        metavar="URL",
        help="The server.",
        rich_help_panel=_PANEL,
        show_default=False,
        autocompletion=completion.servers,
    ),
]
ProjectOption = Annotated[
    str,
    typer.Option(
        "--project",
        "-p",
        metavar="GROUP/NAME",
        help="The project: path, id or address. Default: that of this working copy.",
        rich_help_panel=_PANEL,
        show_default=False,
        autocompletion=completion.projects,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON: docs/command-line.md has the fields.", rich_help_panel=_PANEL)
]
NoColorOption = Annotated[
    bool, typer.Option("--no-color", help="No colours; the variable NO_COLOR says the same.", rich_help_panel=_PANEL)
]
NoInputOption = Annotated[bool, typer.Option("--no-input", help="Never ask.", rich_help_panel=_PANEL)]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Say yes to every question.", rich_help_panel=_PANEL)]

_COMMON: Final[dict[str, Any]] = {
    "server": ServerOption,
    "project": ProjectOption,
    "as_json": JsonOption,
    "no_color": NoColorOption,
    "no_input": NoInputOption,
    "yes": YesOption,
}
_TEXTS: Final = frozenset({"server", "project"})
"""Common options that take a value; the others are flags."""


@dataclass
class Invocation:
    """A call of a command. What it needs of its environment is read when it is first asked for."""

    out: Output
    server_flag: str = ""
    project_flag: str = ""
    around: CommandContext = field(default_factory=CommandContext.here)
    _pasted: Pasted | None = None
    _open: ExitStack = field(default_factory=ExitStack)

    def paste(self, text: str, kind: str) -> int | None:
        """The id in a pasted address, whose server and project count from now on; None for an id or a name.

        Raises `Invalid` for the address of something else.
        """
        if not is_address(text):
            return None
        found = read_address(text, self.around.user_file.servers)
        if found.kind != kind:
            raise Invalid(f"{text} is no address of the right kind: it must lead to .../-/{kind}/NUMBER.")
        self._pasted = found
        return found.id

    @cached_property
    def server(self) -> Server:
        """The server that is meant, with its token."""
        pasted = self._pasted
        if pasted is None and is_address(self.project_flag):
            pasted = read_address(self.project_flag, self.around.user_file.servers)
        return find_server(self.server_flag, pasted, self.around)

    @cached_property
    def api(self) -> Api:
        """The server's API; closed with the call."""
        api = Api(self.server.url, self.server.token, advice=advice_for(self.server))
        self._open.callback(api.close)
        return api

    @cached_property
    def project(self) -> str:
        """The project that is meant, by id or full path."""
        return find_project(self.project_flag, self._pasted, self.server, self.around)

    @property
    def home(self) -> str:
        """Route of the project."""
        return f"/projects/{quote(self.project, safe='')}"

    @cached_property
    def ref(self) -> str:
        """The branch or tag that is checked out, if the project is that of the working copy; else empty."""
        checkout = self.around.checkout
        mine = remote_project(self.server.url, self.around)
        if checkout is None or checkout.head is None or mine.lower() != self.project.lower():
            return ""
        return checkout.head.ref

    @property
    def now(self) -> datetime:
        """The moment, in UTC."""
        return datetime.now(UTC)

    @contextmanager
    def naming(self, what: str, next_command: str) -> Iterator[None]:
        """Say of a 404 what was not found, and how to see what there is."""
        try:
            yield
        except NotFound as error:
            project = self.__dict__.get("project", "")
            place = f" in {project}" if project and project not in what else ""
            text = f"There is no {what}{place} on {self.server.url}, or you may not see it"
            raise NotFound(f"{text} ({error}). Next: `{next_command}`.") from error

    def close(self) -> None:
        """Give the connections back."""
        self._open.close()


def advice_for(server: Server) -> Advice:
    """What to do next when a server refuses or is away."""
    login = f"Next: `perdure login {server.url}`."
    return {
        Unauthenticated: f"The token was revoked, has expired or is of another server. {login}"
        if server.token
        else f"You are not logged in. {login}",
        Forbidden: "Your role or your token does not permit this; `perdure whoami` shows who you are.",
        Unavailable: "Next: `perdure doctor`.",
        **({} if server.token else {NotFound: f"You are not logged in; it may be private. {login}"}),
    }


def verb(
    app: typer.Typer, name: str, *, project: bool = True, json: bool = True, **settings: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a command whose function takes an `Invocation` first; it has the common options beside its own."""
    left_out = ({"project"} if not project else set()) | ({"as_json"} if not json else set())

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        app.command(name, **settings)(with_common_options(function, left_out))
        return function

    return declare


def with_common_options(function: Callable[..., None], left_out: "set[str] | frozenset[str]") -> Callable[..., None]:
    """A function for Typer that makes the `Invocation` from the common options and closes it at the end."""
    common = {name: kind for name, kind in _COMMON.items() if name not in left_out}

    def run(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in common}
        server, chosen = given.pop("server", ""), given.pop("project", "")
        call = Invocation(Output(**given), server, chosen)
        try:
            function(call, **arguments)
        finally:
            call.close()

    own = [one.replace(kind=one.KEYWORD_ONLY) for one in list(inspect.signature(function).parameters.values())[1:]]
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default="" if name in _TEXTS else False, annotation=kind
        )
        for name, kind in common.items()
    ]
    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    run.__doc__, run.__name__ = function.__doc__, function.__name__
    run.__annotations__ = {}
    return run
