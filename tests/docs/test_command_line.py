"""`docs/command-line.md` says what the code does."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from cli.lazy_group import Lazy, load
from cli.main import LAZY
from cli.remote.documents import KINDS
from cli.remote.runner import RunnerCommands
from tests.docs.command_line import PAGE, page

CLI = Path(__file__).parents[2] / "cli"


def test_the_page_has_the_tables_of_now() -> None:
    text = PAGE.read_text()
    assert text == page(text), "run `python -m tests.docs.command_line`"


@pytest.mark.parametrize(("name", "lazy"), [*LAZY.items(), *RunnerCommands.LAZY.items()])
def test_a_list_of_commands_says_what_the_command_says(name: str, lazy: Lazy) -> None:
    command = load(name, LAZY.get(name) or RunnerCommands.LAZY[name])
    assert (command.help or "").strip().partition("\n")[0] == lazy.help


def test_names_of_kinds_are_used() -> None:
    assert {field.of for kind in KINDS.values() for field in kind} - {""} <= {*KINDS, "string"}


def test_help_imports_no_command() -> None:
    program = "import sys; from cli.main import app; app(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=CLI.parent)
    modules = set(done.stdout.split())
    assert not {name for name in modules if name.startswith(("cli.remote.", "httpx", "fleet", "sqlalchemy"))}


def test_unknown_commands_are_usage_errors() -> None:
    group = typer.main.get_group(typer.Typer(cls=RunnerCommands))
    assert group.get_command(typer.Context(group), "nonsense") is None
