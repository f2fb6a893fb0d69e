"""`auto_cancel` of the workflow and of its rules.

Source: docs/reference/ci-yaml.md, "Global keywords"; docs/reference/pipelines.md, "Automatic cancel".
"""

from collections.abc import Mapping
from typing import Final

from domain.config.keywords import AUTO_CANCEL
from domain.config.reading.field import Field

PERMITTED: Final[Mapping[str, tuple[str, ...]]] = {
    "on_new_commit": ("conservative", "interruptible", "none"),
    "on_job_failure": ("none", "all"),
}
"""Values of each key, in the order in which messages list them."""


def read_auto_cancel(field: Field) -> Mapping[str, str] | None:
    """The keys that are given, with their values."""
    if not field.has_keys_of(AUTO_CANCEL):
        return None
    read = {key: _value(field.attribute(key), PERMITTED[key]) for key in PERMITTED if field.given(key)}
    return {key: value for key, value in read.items() if value is not None}


def _value(field: Field, permitted: tuple[str, ...]) -> str | None:
    if isinstance(field.value, str) and field.value in permitted:
        return field.value
    field.fault(f"must be one of: {', '.join(permitted)}")
    return None
