"""The login for a registry: from the variable of the job, from Docker's file, or from a program that this names.

Source: docs/reference/steps.md, "Steps in images".
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from domain.errors import Invalid
from domain.steps.registry_login import helper_of, login_of

LOGIN: Final = "DOCKER_AUTH_CONFIG"
"""The variable of a job, or of the environment, with names and passwords for registries; as Docker's `config.json`."""
_TIMEOUT: Final = 30.0


def login_for(host: str, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """User and password for a registry, the first that is found. Raises `Invalid`; nothing that is secret is told."""
    if found := login_of(environment.get(LOGIN, ""), host, LOGIN):
        return found
    folder = environment.get("DOCKER_CONFIG") or str(Path.home() / ".docker")
    file = Path(folder) / "config.json"
    try:
        text = file.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        raise Invalid(f"{file} cannot be read") from None
    if found := login_of(text, host, str(file)):
        return found
    helper = helper_of(text, host)
    return _from_helper(helper, host) if helper else None


def _from_helper(helper: str, host: str) -> tuple[str, str] | None:
    """What `docker-credential-NAME` knows; it answers nothing, or fails, where it knows nothing."""
    command = f"docker-credential-{helper}"
    try:
        done = subprocess.run(
            [command, "get"], input=host.encode(), capture_output=True, timeout=_TIMEOUT, check=False, env=os.environ
        )
        document = json.loads(done.stdout) if not done.returncode else {}
    except (OSError, subprocess.TimeoutExpired, ValueError):
        raise Invalid(f"{command}, which Docker's config.json names for {host}, gives no login") from None
    user, password = document.get("Username"), document.get("Secret")
    return (user, password) if user and password else None
