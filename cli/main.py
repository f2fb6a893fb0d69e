"""The `perdure` command. Commands import what they need when they run, so that `--help` is quick."""

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from cli.exit_codes import ExitCode, exit_code
from domain.errors import Invalid, PerdureError

if TYPE_CHECKING:
    from settings import Settings

LAZY = {
    "lint": ("cli.lint", "lint"),
    "plan": ("cli.plan", "plan"),
    "runner": ("cli.runner", "app"),
    "demo": ("cli.demo", "demo"),
    "keys": ("cli.keys", "app"),
}
"""Command -> module and name of a Typer app or of a command function."""

QUICK = frozenset({"lint", "plan"})
"""Commands of LAZY that are called without Typer where the command line permits it."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class LazyGroup(TyperGroup):
    """A group that imports the commands of LAZY only when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All commands; one of LAZY is offered where its module is installed."""
        offered = [name for name, (module, _) in LAZY.items() if importlib.util.find_spec(module)]
        return [*super().list_commands(ctx), *offered]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, or None."""
        if cmd_name not in LAZY:
            return super().get_command(ctx, cmd_name)
        module, attribute = LAZY[cmd_name]
        if not importlib.util.find_spec(module):
            return None
        found = getattr(importlib.import_module(module), attribute)
        host = typer.Typer()
        if isinstance(found, typer.Typer):
            host.add_typer(found, name=cmd_name)
        else:
            host.command(cmd_name)(found)
        return typer.main.get_group(host).commands[cmd_name]


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Perdure: pipelines that survive. `perdure up` starts everything on this machine.",
)


def _version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        typer.echo(importlib.metadata.version("perdure"))
        raise typer.Exit


@app.callback()
def options(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that stand before the command."""


@app.command()
def up(
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay; Ctrl-C stops everything.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Start Perdure on this machine and wait until it answers."""
    from cli.up import up as run

    raise typer.Exit(run(read_settings(), foreground=foreground, as_json=as_json))


@app.command()
def down() -> None:
    """Stop Perdure on this machine; its state stays."""
    from cli.down import down as run

    stopped = run(read_settings())
    typer.echo("Perdure is down." if stopped else "Perdure was not up.", err=True)


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Show what of Perdure runs on this machine; exit 0 if all of it answers."""
    from cli.status import status as run

    raise typer.Exit(run(read_settings(), as_json=as_json))


@app.command()
def front() -> None:
    """Run only the front: it forwards to the API and answers 503 while that is away."""
    from pods.front import main as run

    read_settings()
    run()


@app.command(hidden=True)
def supervisor() -> None:
    """Run only the supervisor, in the foreground."""
    from pods.supervisor import main as run

    read_settings()
    run()


def read_settings() -> "Settings":
    """The settings from the environment; raises Invalid with the name of every wrong variable."""
    from pydantic import ValidationError

    from cli.ports import embedded
    from settings import FrontLimits, Settings

    try:
        return embedded(Settings())
    except ValidationError as error:
        prefixes = {part.__name__: part.model_config.get("env_prefix", "") for part in (Settings, FrontLimits)}
        prefix = prefixes.get(error.title, "PERDURE_")
        faults = [f"{prefix}{fault['loc'][0]}".upper() + f": {fault['msg']}" for fault in error.errors()]
        raise Invalid("A setting is wrong. " + "; ".join(faults)) from error


def main() -> None:
    """Entry point of `perdure`; an error becomes a message on stderr and an exit status."""
    try:
        _run(sys.argv[1:])
    except PerdureError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(exit_code(error))
    except OSError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(ExitCode.FAILED)


def _run(words: list[str]) -> None:
    """Run a command and end the process."""
    if words and words[0] in QUICK:
        from cli.quick import quick_arguments, run_quickly

        module, attribute = LAZY[words[0]]
        command = getattr(importlib.import_module(module), attribute)
        arguments = quick_arguments(command, words[1:])
        if arguments is not None:
            sys.exit(run_quickly(command, arguments))
    app()


if __name__ == "__main__":
    main()
