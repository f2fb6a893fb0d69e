"""A short way into commands that shall answer at once.

Typer builds a validator for every option of a command before it calls it, which takes longer than compiling a
configuration. Plain command lines are read here by the same declarations; for everything else (`--help`, mistakes,
short forms) the answer is None, and Typer takes over with its own words.
"""

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

from cli.exit_codes import ExitCode

INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, as shells have it."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One parameter of a command: its name there, its type without None, and its default."""

    name: str
    type: Any
    default: Any

    @property
    def is_list(self) -> bool:
        return get_origin(self.type) is list


def quick_arguments(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments for a command's function; None for a command line that is not plain and right."""
    options, places = _declared(command)
    given: dict[str, Any] = {one.name: one.default for one in (*options.values(), *places)}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            if not places:
                return None
            given[places.pop(0).name] = word
            continue
        name, equals, value = word.partition("=")
        parameter = options.get(name)
        if parameter is None or (equals and parameter.type is bool):
            return None
        text = value if equals or parameter.type is bool else next(rest, "-")
        if text.startswith("-") and not equals:
            return None
        if not _take(given, parameter, text):
            return None
    return given


def run_quickly(command: Callable[..., None], arguments: Mapping[str, Any]) -> int:
    """Call a command's function; its exit status."""
    try:
        command(**arguments)
        sys.stdout.flush()
    except typer.Exit as end:
        return end.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough; Python must not complain at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FAILED
    return ExitCode.OK


def _declared(command: Callable[..., None]) -> tuple[dict[str, _Parameter], list[_Parameter]]:
    """The options by their long names, and the arguments in their order."""
    options: dict[str, _Parameter] = {}
    places: list[_Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        assert get_origin(parameter.annotation) is Annotated, f"{parameter.name} is not declared for Typer"
        kind, info = get_args(parameter.annotation)
        found = _Parameter(parameter.name, _without_none(kind), parameter.default)
        if isinstance(info, OptionInfo):
            # In an annotation, Typer's first parameter is a name too, though it is called `default`.
            names = (info.default, *(info.param_decls or ()))
            options |= {name: found for name in names if isinstance(name, str)}
        elif isinstance(info, ArgumentInfo):
            places.append(found)
    return options, places


def _without_none(kind: Any) -> Any:
    choices = [one for one in get_args(kind) if one is not type(None)]
    return choices[0] if type(None) in get_args(kind) else kind


def _take(given: dict[str, Any], parameter: _Parameter, text: str) -> bool:
    """Note a value; false if it is none for this parameter."""
    if parameter.type is bool:
        given[parameter.name] = True
    elif parameter.is_list:
        given[parameter.name] = [*(given[parameter.name] or ()), text]
    elif isinstance(parameter.type, type) and issubclass(parameter.type, Enum):
        try:
            given[parameter.name] = parameter.type(text)
        except ValueError:
            return False
    else:
        given[parameter.name] = text
    return True
