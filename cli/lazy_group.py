"""Groups of commands that import a command only when it is run: `perdure --help` shall be there at once."""

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True, slots=True)
class Lazy:
    """Where a command is, and what lists say of it: the first line of its own help."""

    module: str
    attribute: str
    help: str


class LazyGroup(TyperGroup):
    """A group with `LAZY` commands beside those that are declared in place."""

    LAZY: ClassVar[Mapping[str, Lazy]] = {}
    _lists = False
    """True while only names and help are wanted."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All commands; one of LAZY is offered where its module is installed."""
        offered = [name for name, lazy in self.LAZY.items() if importlib.util.find_spec(lazy.module)]
        return [*super().list_commands(ctx), *offered]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, or None."""
        lazy = self.LAZY.get(cmd_name)
        if lazy is None:
            return super().get_command(ctx, cmd_name)
        if self._lists:
            return TyperCommand(cmd_name, help=lazy.help)
        return load(cmd_name, lazy) if importlib.util.find_spec(lazy.module) else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, without any import."""
        self._lists = True
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The names that fit, without any import."""
        self._lists = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._lists = False


def load(name: str, lazy: Lazy) -> Any:
    """Import a command or a group of commands."""
    found = getattr(importlib.import_module(lazy.module), lazy.attribute)
    host = typer.Typer(pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        host.add_typer(found, name=name)
    else:
        host.command(name)(found)
    return typer.main.get_group(host).commands[name]
