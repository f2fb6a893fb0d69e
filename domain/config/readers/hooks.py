"""`hooks`: commands that run at certain points of a job. Source: docs/reference/ci-yaml.md, "Job keywords"."""

from collections.abc import Mapping

from domain.config.keywords import HOOKS
from domain.config.reading import checks
from domain.config.reading.field import Field


def read_hooks(field: Field) -> Mapping[str, tuple[str, ...]] | None:
    """Commands by the name of their hook."""
    if not field.has_keys_of(HOOKS):
        return None
    found = {name: checks.commands(field.entry(name)) for name in sorted(HOOKS) if field.given(name)}
    return {name: lines for name, lines in found.items() if lines is not None}
