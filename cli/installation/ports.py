"""The ports of the embedded mode: those of the settings, or others that a demo once picked because they were busy.

Picked ports are kept in `<home>/ports.json`, so that `status`, `down` and the next `up` mean the same processes.
"""

import json
import os
import socket
from pathlib import Path
from typing import Final

from files import durable
from pods.loopback import LOOPBACK, family_of, front_check, near
from settings import Settings

FILE: Final = "ports.json"
FIELDS: Final = (
    "front_port",
    "api_port",
    "temporal_port",
    "temporal_ui_port",
    "temporal_http_port",
    "temporal_metrics_port",
    "metrics_port",
    "front_metrics_port",
    "temporal_client_metrics_port",
    "directory_port",
    "directory_metrics_port",
)


DIRECTORY: Final = {"directory_port": "port", "directory_metrics_port": "metrics_port"}
"""Those that are part of other settings, and what they are called there."""


def embedded(settings: Settings) -> Settings:
    """The settings of the embedded mode: with the ports that were picked, and with the front asked for the API."""
    known = _read(settings.home / FILE)
    ports = {field: port for field, port in known.items() if f"PERDURE_{field.upper()}" not in os.environ}
    return with_ports(settings, ports)


def with_ports(settings: Settings, ports: dict[str, int]) -> Settings:
    """The same settings with other ports."""
    rest = {field: port for field, port in ports.items() if field not in DIRECTORY}
    own = {DIRECTORY[field]: port for field, port in ports.items() if field in DIRECTORY}
    changed = settings.model_copy(update={**rest, "directory": settings.directory.model_copy(update=own)})
    if settings.front_check and settings.front_port == changed.front_port:
        return changed
    return changed.model_copy(update={"front_check": front_check(changed)})


def pick_free(settings: Settings) -> Settings:
    """Settings with ports that nobody listens on; they are kept for the next command."""
    own = near(settings)
    hosts = [own if field in {"front_port", "api_port"} else LOOPBACK for field in FIELDS]
    sockets = [socket.create_server((host, 0), family=family_of(host)) for host in hosts]
    ports = {field: one.getsockname()[1] for field, one in zip(FIELDS, sockets, strict=True)}
    for one in sockets:
        one.close()
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    durable.replace(settings.home / FILE, json.dumps(ports).encode())
    return with_ports(settings, ports)


def _read(path: Path) -> dict[str, int]:
    try:
        known = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return {field: known[field] for field in FIELDS if isinstance(known.get(field), int)}
