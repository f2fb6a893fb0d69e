"""Writes the tables of commands, exit codes and JSON fields into `docs/command-line.md`.

`python -m tests.docs.command_line`.
"""

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import typer

from cli.exit_codes import ExitCode
from cli.lazy_group import LazyGroup
from cli.main import app
from cli.remote.documents import KINDS

PAGE: Final = Path(__file__).parents[2] / "docs" / "command-line.md"
_MADE: Final = "made by `python -m tests.docs.command_line`"
_COMMON: Final = "Options of all commands"
NOUNS: Final = (
    "login",
    "logout",
    "whoami",
    "git-credential",
    "project",
    "group",
    "user",
    "member",
    "pipeline",
    "job",
    "mr",
    "schedule",
    "variable",
    "trigger",
    "runner",
    "pod",
    "step-runner",
    "import",
    "token",
    "doctor",
)
"""The commands of the page, in its order; those for one's own machine are in other pages."""


def commands() -> str:
    """Every command with its arguments and options."""
    root = typer.main.get_command(app)
    assert isinstance(root, LazyGroup)
    lines = ["| command | what it does |", "|---|---|"]
    for name in NOUNS:
        found = root.get_command(typer.Context(root), name)
        lines += [f"| `{line}` | {_escaped(what)} |" for line, what in _described(name, found)]
    return "\n".join(lines) + "\n"


def exit_codes() -> str:
    """Every exit status of the table."""
    text = inspect.getsource(ExitCode)
    meanings = {code.name: text.partition(f"{code.name} = {code.value}\n")[2].split('"""')[1] for code in ExitCode}
    rows = [f"| {code.value} | {meanings[code.name]} |" for code in ExitCode]
    return "\n".join(["| status | meaning |", "|---|---|", *rows]) + "\n"


def fields() -> str:
    """Every kind of document with its fields."""
    parts: list[str] = []
    for name, kind in KINDS.items():
        rows = [f"| `{field.name}` | {_type(field.type, field.of)} | {_escaped(field.meaning)} |" for field in kind]
        parts += [f"### {name}", "", "| field | type | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(parts)


SECTIONS: Final[Mapping[str, Any]] = {"commands": commands, "exit codes": exit_codes, "fields": fields}


def page(text: str) -> str:
    """The page with the tables of now between their marks."""
    for name, made in SECTIONS.items():
        begin, end = f"<!-- {name}: {_MADE} -->\n", f"<!-- end of {name} -->\n"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        assert all((found, closed)), f"{PAGE} has no place for {name}"
        text = f"{before}{begin}\n{made()}\n{end}{after}"
    return text


def _described(name: str, command: Any) -> Iterator[tuple[str, str]]:
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for verb in command.list_commands(context):
            yield from _described(f"{name} {verb}", command.get_command(context, verb))
        return
    words = [f"perdure {name}"]
    for parameter in command.params:
        if getattr(parameter, "rich_help_panel", None) == _COMMON or parameter.name == "help":
            continue
        words.append(_word(parameter))
    what = (command.help or "").strip().partition("\n")[0]
    yield " ".join(words).replace("|", "\\|"), what


def _word(parameter: Any) -> str:
    """An argument or option as a line of usage has it."""
    if parameter.param_type_name == "argument":
        word = (
            (parameter.metavar or parameter.name.upper()).strip("[]{}") if parameter.metavar != "[GROUP/]NAME" else ""
        )
        word = word or "[GROUP/]NAME"
        return word if parameter.required else f"[{word}]"
    option = next(name for name in parameter.opts if name.startswith("--"))
    if parameter.secondary_opts:
        option = f"{option}/{parameter.secondary_opts[0]}"
    elif not parameter.is_flag:
        option = f"{option} {parameter.metavar or 'X'}"
    return option if parameter.required else f"[{option}]"


def _type(text: str, of: str) -> str:
    inner = f" of {of}" if of else ""
    return " or ".join(text.split("|")) + inner


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
