"""A file with the variables of a pod of another home, for a command that works on both (`--settings FILE`)."""

from difflib import get_close_matches
from pathlib import Path
from typing import Final

from dotenv import dotenv_values
from pydantic import ValidationError

from domain.errors import Invalid
from pods.environment import names
from settings import Settings

PREFIX: Final = "PERDURE_"
_POD: Final = "pod"
_OF_A_PLACE: Final = (
    "home",
    _POD,
    "pod_number",
    "database_url",
    "object_store",
    "repositories",
    "secrets_key",
    "temporal_address",
    "temporal_namespace",
    "task_queue",
)
"""The settings of a pod that a command needs which works on it."""


def read_place(file: Path) -> Settings:
    """The settings of the pod whose environment file this is, as systemd and Docker read those.

    What the file does not say is as by default, and not as the environment of this command has it. Other variables of
    the pod may be there, but none whose name is a mistake. Raises `Invalid`.
    """
    try:
        given = dotenv_values(file, interpolate=False) if file.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"--settings {file}: cannot be read ({error}).") from error
    if given is None:
        raise Invalid(f"--settings {file}: there is no such file.")
    named = {name.removeprefix(PREFIX).lower(): value or "" for name, value in given.items() if name.startswith(PREFIX)}
    _require_known(file, named)
    if not named.get(_POD):
        raise Invalid(f"--settings {file}: {PREFIX}POD is missing: the name of the pod.")
    values = {name: named.get(name, Settings.model_fields[name].default) for name in _OF_A_PLACE}
    try:
        return Settings(**values)
    except ValidationError as error:
        faults = "; ".join(f"{PREFIX}{fault['loc'][0]}".upper() + f": {fault['msg']}" for fault in error.errors())
        raise Invalid(f"--settings {file}: {faults}") from error


def _require_known(file: Path, named: dict[str, str]) -> None:
    """Raise `Invalid` for a name that is nearly one of those that are read: it would count as not given."""
    known = names(Settings())
    for name in sorted(f"{PREFIX}{name.upper()}" for name in named):
        meant = get_close_matches(name, [f"{PREFIX}{field.upper()}" for field in _OF_A_PLACE], n=1, cutoff=0.85)
        if name not in known and meant:
            raise Invalid(f"--settings {file}: there is no variable {name}; {meant[0]} is meant?")
