"""`artifacts` and their reports. Reference: CI YAML, section 6."""

from collections.abc import Mapping

from domain.config import checks
from domain.config.durations import NEVER
from domain.config.field import Field
from domain.config.keywords import ARTIFACTS, ARTIFACTS_WHEN, REPORTS
from domain.config.plan import Artifacts
from domain.config.tree import Map


def read_artifacts(field: Field) -> Artifacts | None:
    """A mapping of what to keep, for how long and of which jobs' results."""
    if not field.has_keys_of(ARTIFACTS):
        return None
    return Artifacts(
        paths=_paths(field, "paths"),
        exclude=_paths(field, "exclude"),
        untracked=bool(checks.boolean(field.attribute("untracked"))) if field.given("untracked") else False,
        name=(checks.text(field.attribute("name")) if field.given("name") else None) or "",
        when=(checks.choice(field.attribute("when"), ARTIFACTS_WHEN) if field.given("when") else None) or "on_success",
        expire_in=_expire_in(field.attribute("expire_in")) if field.given("expire_in") else "",
        reports=_reports(field.entry("reports")) if field.given("reports") else {},
    )


def _paths(field: Field, key: str) -> tuple[str, ...]:
    return (checks.strings(field.attribute(key)) if field.given(key) else None) or ()


def _expire_in(field: Field) -> str:
    """The text is kept as it is: the runner sends it back with the upload."""
    if isinstance(field.value, str) and field.value.strip().lower() == NEVER:
        return NEVER
    return str(field.value) if checks.duration(field) is not None else ""


def _reports(field: Field) -> Mapping[str, tuple[str, ...]]:
    if not field.has_keys_of(REPORTS) or not isinstance(field.value, Map):
        return {}
    given = [kind for kind in field.value if kind in REPORTS.read and field.given(kind)]
    found = {kind: checks.strings_or_string(field.attribute(kind)) for kind in given}
    return {kind: paths for kind, paths in found.items() if paths is not None}
