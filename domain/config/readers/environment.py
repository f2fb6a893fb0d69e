"""`environment`: where a job deploys to.

Source: docs/reference/ci-yaml.md, "Job keywords", "Limits"; docs/reference/pipelines.md, "Environments".
"""

import re
from typing import Final

from domain.config.keywords import ENVIRONMENT
from domain.config.plan import Document, Environment
from domain.config.reading import checks
from domain.config.reading.documents import Key, Shape, read_shape
from domain.config.reading.durations import NEVER, parse_expiry
from domain.config.reading.field import Field
from domain.config.reading.tree import Map
from domain.errors import Invalid

ACTIONS: Final = ("start", "stop", "prepare", "verify", "access")
"""Values of `environment:action`."""
TIERS: Final = ("production", "staging", "testing", "development", "other")
"""Values of `environment:deployment_tier`."""
MAX_URL: Final = 255

_NAME: Final = re.compile(r"[A-Za-z0-9_/${}. -]+")

DASHBOARD: Final[Shape] = {
    "namespace": Key(checks.filled_text, required=True),
    "flux_resource_path": Key(checks.filled_text),
}
"""Keys of `environment:kubernetes:dashboard`."""
MANAGED_RESOURCES: Final[Shape] = {"enabled": Key(checks.boolean)}
"""Keys of `environment:kubernetes:managed_resources`."""
KUBERNETES: Final[Shape] = {
    "namespace": Key(checks.text),
    "agent": Key(checks.text),
    "flux_resource_path": Key(checks.text),
    "managed_resources": Key(lambda field: read_shape(field, MANAGED_RESOURCES), nested=True),
    "dashboard": Key(lambda field: read_shape(field, DASHBOARD), nested=True),
}
"""Keys of `environment:kubernetes`; two of them are the older form of the dashboard's."""


def read_environment(field: Field) -> Environment | None:
    """A name, or a mapping with one."""
    if isinstance(field.value, str):
        label = f"{field.path} name"
        return Environment(_name(Field(field.value, field.path, label, field.place, field.issues)))
    if not isinstance(field.value, Map):
        field.fault("should be a hash or a string")
        return None
    field.has_keys_of(ENVIRONMENT)
    if not field.given("name"):
        checks.lacks(field, "name")
    return Environment(
        name=_name(field.attribute("name")) if field.given("name") else "",
        url=(checks.short_text(field.attribute("url"), MAX_URL) if field.given("url") else None) or "",
        action=_action(field.attribute("action")) if field.given("action") else ACTIONS[0],
        on_stop=checks.optional_text(field, "on_stop"),
        auto_stop_in=_auto_stop_in(field.attribute("auto_stop_in")) if field.given("auto_stop_in") else "",
        deployment_tier=_tier(field),
        kubernetes=_kubernetes(field.entry("kubernetes")) if field.given("kubernetes") else {},
    )


def _name(field: Field) -> str:
    name = field.value
    if isinstance(name, str) and not name.strip():
        field.fault("can't be blank")
    elif not isinstance(name, str) or not _NAME.fullmatch(name) or name[0] == "/" or name[-1] == "/":
        field.fault(
            "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, "
            "but it cannot start or end with '/'"
        )
    return name if isinstance(name, str) else ""


def _action(field: Field) -> str:
    said = f"should be {', '.join(ACTIONS[:-1])}, or {ACTIONS[-1]}"
    return checks.choice(field, ACTIONS, said) or ACTIONS[0]


def _tier(field: Field) -> str:
    if not field.given("deployment_tier"):
        return ""
    tier = field.attribute("deployment_tier")
    if isinstance(tier.value, str) and "$" in tier.value:
        return tier.value
    return checks.choice(tier, TIERS) or ""


def _auto_stop_in(field: Field) -> str:
    """A text; whether it is a duration is seen when the job has deployed. One that cannot be is worth a warning."""
    written = checks.text(field) or ""
    try:
        parse_expiry(written if "$" not in written else NEVER)
    except Invalid as error:
        field.issues.warn(f"{field.label} is without effect: {error}", field.path, field.place)
    return written


def _kubernetes(field: Field) -> Document:
    """The agent and what it may do. Some of the keys need others."""
    found = read_shape(field, KUBERNETES)
    if found is None:
        return {}
    if not field.value:
        field.fault("can't be blank")
    dashboard = found.get("dashboard", {})
    if found.get("flux_resource_path") and not found.get("namespace"):
        checks.lacks(field, "namespace")
    asks = found.get("flux_resource_path") or dashboard or found.get("managed_resources", {}).get("enabled")
    if asks and not found.get("agent"):
        checks.lacks(field, "agent")
    for key in ("namespace", "flux_resource_path"):
        if found.get(key) and dashboard.get(key):
            field.attribute(key).fault(f"cannot be specified when dashboard.{key} is set")
    return found
