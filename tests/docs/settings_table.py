"""Writes the tables of settings into `docs/settings.md`: `python -m tests.docs.settings_table`."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

import settings
from settings import Settings

PAGE: Final = Path(__file__).parents[2] / "docs" / "settings.md"
BEGIN: Final = "<!-- settings: made by `python -m tests.docs.settings_table` -->\n"
END: Final = "<!-- end of settings -->\n"

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Places": ("home", "database_url", "object_store", "direct_download", "repositories", "pod", "pod_number"),
    "Addresses and ports": (
        "external_url",
        "host",
        "front_port",
        "api_port",
        "temporal_port",
        "temporal_ui_port",
        "temporal_http_port",
        "temporal_http_hosts",
        "registry_url",
        "front_check",
        "trusted_proxies",
        "outbound_networks",
    ),
    "Metrics and logs": (
        "metrics_host",
        "metrics_port",
        "front_metrics_port",
        "temporal_metrics_port",
        "temporal_client_metrics_port",
        "log_level",
        "log_json",
    ),
    "Keys": ("signing_key", "secrets_key"),
    "Processes, runners, projects": (
        "api_role",
        "jobs_as",
        "unsupported_keywords",
        "registration_tokens",
        "auto_devops",
        "up_timeout",
        "workflow_sandbox",
    ),
    "Temporal": (
        "temporal_address",
        "temporal_namespace",
        "task_queue",
        "temporal_retention",
        "worker_deployment",
        "worker_build",
        "temporal_access",
    ),
    "Sign-in by OpenID Connect": ("oidc",),
    "E-mail": ("smtp",),
    "How long anything waits": ("times",),
    "How long anything is kept": ("retention",),
    "Sizes": ("sizes",),
    "How often": ("rates", "refusals"),
    "The front": ("front",),
    "The directory of pods": ("directory",),
}
"""Titles, and the fields of `Settings` below them; those that are settings themselves stand for all of theirs."""

UNITS: Final[Mapping[str, str]] = {
    "retry_poll": "s",
    "retry_put": "s",
    "retry_upload": "s",
    "trace_interval": "s",
    "trace_interval_unwatched": "s",
    "held_memory": "bytes",
    "body_rate": "bytes/s",
}
"""Of whole numbers whose names do not end in `_bytes`; numbers with a fraction are seconds, others are counts."""


def sections() -> str:
    """A heading and a table for each group."""
    parts = []
    for title, names in GROUPS.items():
        rows = "\n".join(row for name in names for row in _rows(name))
        parts.append(f"## {title}\n\n| variable | default | unit | what it does |\n|---|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def page(text: str) -> str:
    """The page with the tables of now between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{sections()}\n{END}{after}"


def nested(name: str) -> type[BaseSettings] | None:
    """The class of a field of `Settings` that is settings itself."""
    kind = Settings.model_fields[name].annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseSettings) else None


def _rows(name: str) -> Iterator[str]:
    kind = nested(name)
    of_class, names = (kind, list(kind.model_fields)) if kind is not None else (Settings, [name])
    texts = _texts(of_class)
    for each in names:
        field = of_class.model_fields[each]
        variable = f"{of_class.model_config['env_prefix']}{each}".upper()
        yield f"| `{variable}` | {_default(field)} | {_unit(each, field)} | {texts[each]} |"


def _default(field: FieldInfo) -> str:
    value: Any = field.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "" if value is None or value == "" else f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _unit(name: str, field: FieldInfo) -> str:
    if name in UNITS:
        return UNITS[name]
    return "s" if field.annotation is float else "bytes" if name.endswith("_bytes") else ""


def _texts(of_class: type[BaseSettings]) -> dict[str, str]:
    """The sentences below each field of a class."""
    (tree,) = (
        node
        for node in ast.parse(inspect.getsource(settings)).body
        if isinstance(node, ast.ClassDef) and node.name == of_class.__name__
    )
    found: dict[str, str] = {}
    for node, following in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            found[node.target.id] = " ".join(str(text.value).split()) if isinstance(text, ast.Constant) else ""
    return found


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
