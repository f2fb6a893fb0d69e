"""Secrets of webhooks and forges as the REST API writes them: sealed before they come near the database."""

from collections.abc import Mapping

import orjson

from application.services import Services
from domain.sealed_for import HOOK


def sealed(services: Services, text: str, purpose: str = HOOK) -> str:
    """A secret as its column holds it; empty for none."""
    return services.sealer.seal(text, purpose) if text else ""


def sealed_map(services: Services, values: Mapping[str, str]) -> str:
    """Names with secret values as their column holds them; empty for none."""
    return sealed(services, orjson.dumps(dict(values)).decode() if values else "")


def opened_map(services: Services, column: str) -> dict[str, str]:
    """The names and values again. Raises `Invalid` when they cannot be opened."""
    found: dict[str, str] = orjson.loads(services.sealer.open(column, HOOK)) if column else {}
    return found
