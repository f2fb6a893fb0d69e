"""The environment of a child process: what it inherits, and the settings exactly as its parent has them."""

import json
import os
from pathlib import Path

from pydantic_settings import BaseSettings

from pods.listening import HANDED
from pods.process import MARK
from settings import Settings

SECRET = frozenset(
    {
        "PERDURE_SIGNING_KEY",
        "PERDURE_SECRETS_KEY",
        "PERDURE_OIDC_CLIENT_SECRET",
        "PERDURE_DATABASE_URL",
        "PERDURE_OBJECT_STORE",
        "PERDURE_TEMPORAL_API_KEY",
        "PERDURE_TEMPORAL_TLS_KEY",
        "PERDURE_DIRECTORY_TOKEN",
        "PERDURE_SMTP_PASSWORD",
        "PERDURE_SMTP_URL",
        "PERDURE_DIRECTORY_DATABASE_URL",
    }
)
"""What only the API may know: a job can read the environment of the runner that runs it."""
OF_STORES = ("AWS_", "AZURE_", "GOOGLE_", "PGPASS")
"""How variables begin by which libraries find the keys of object stores and databases."""


OF_ONE_PROCESS = frozenset({MARK, HANDED, "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"})
"""What speaks of the process that it was given to, and of no child."""


def names(settings: Settings) -> set[str]:
    """The environment variables of all settings."""
    return {name for name, _ in _walk(settings)}


def variables(settings: Settings) -> dict[str, str]:
    """Every setting as its environment variable; paths are made absolute. Unset ones (None) are left out."""
    return {name: text for name, text in _walk(settings) if text is not None}


def child_environment(settings: Settings, *, secrets: bool) -> dict[str, str]:
    """The whole environment of a child; without `secrets` it cannot sign tokens nor reach database and store."""
    own = names(settings) | OF_ONE_PROCESS
    inherited = {name: value for name, value in os.environ.items() if name not in own}
    if not secrets:
        inherited = {name: value for name, value in inherited.items() if not name.startswith(OF_STORES)}
    chosen = variables(settings)
    return inherited | {name: text for name, text in chosen.items() if secrets or name not in SECRET}


def _walk(settings: BaseSettings) -> list[tuple[str, str | None]]:
    prefix = settings.model_config.get("env_prefix", "")
    found: list[tuple[str, str | None]] = []
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, BaseSettings):
            found += _walk(value)
        else:
            found.append((f"{prefix}{name}".upper(), _text(value)))
    return found


def _text(value: object) -> str | None:
    match value:
        case None | str():
            return value
        case Path():
            return str(value.resolve())
        case _:
            return json.dumps(value)
