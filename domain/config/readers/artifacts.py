"""`artifacts` and their reports. Source: docs/reference/ci-yaml.md, "Artifacts"."""

import re
from collections.abc import Mapping
from typing import Final

from domain.config.keywords import ARTIFACTS, ARTIFACTS_WHEN, REPORTS, Vocabulary
from domain.config.plan import Artifacts, CoverageReport
from domain.config.reading import checks
from domain.config.reading.durations import NEVER
from domain.config.reading.field import Field
from domain.config.reading.tree import Map

ACCESS: Final = ("none", "developer", "maintainer", "all")
"""Values of `artifacts:access`."""
COVERAGE_REPORT: Final[Vocabulary] = frozenset({"coverage_format", "path"})
"""Keys of `artifacts:reports:coverage_report`."""
COVERAGE_FORMATS: Final = ("cobertura", "jacoco")
"""Values of its `coverage_format`."""
MAX_EXPOSE_AS: Final = 100

_EXPOSE_AS: Final = re.compile(r"\w[-\w ]*", re.ASCII)


def read_artifacts(field: Field) -> Artifacts | None:
    """A mapping of what to keep, for how long, of which jobs' results and for whom."""
    if not field.has_keys_of(ARTIFACTS):
        return None
    field.together("access", "public")
    reports = field.entry("reports") if field.given("reports") else None
    return Artifacts(
        paths=checks.optional_strings(field, "paths"),
        exclude=checks.optional_strings(field, "exclude"),
        untracked=checks.flag(field, "untracked"),
        name=checks.optional_text(field, "name"),
        when=(checks.choice(field.attribute("when"), ARTIFACTS_WHEN) if field.given("when") else None) or "on_success",
        expire_in=read_expiry(field.attribute("expire_in")) if field.given("expire_in") else "",
        reports=_reports(reports) if reports else {},
        coverage_report=_coverage_report(reports) if reports else None,
        expose_as=_expose_as(field) if field.given("expose_as") else "",
        access=_access(field),
    )


def read_expiry(field: Field) -> str:
    """A duration or `never`. The text is kept as it is: the runner sends it back with the upload."""
    if isinstance(field.value, str) and field.value.strip().lower() == NEVER:
        return NEVER
    return str(field.value) if checks.duration(field) is not None else ""


def _access(field: Field) -> str:
    if field.given("access"):
        return checks.choice(field.attribute("access"), ACCESS) or "all"
    return "all" if checks.flag(field, "public", default=True) else "developer"


def _expose_as(field: Field) -> str:
    """A name under which the paths are shown; so there must be some, and each must be a plain one."""
    entry = field.attribute("expose_as")
    name = checks.short_text(entry, MAX_EXPOSE_AS)
    if name is not None and not _EXPOSE_AS.fullmatch(name):
        entry.fault("can contain only letters, digits, '-', '_' and spaces")
    paths = field.attribute("paths") if field.given("paths") else None
    if paths is None or not paths.value:
        checks.lacks(field, "paths")
    elif any(isinstance(path.value, str) and "*" in path.value for path in paths.elements()):
        paths.fault("can't contain '*' when used with 'expose_as'")
    return name or ""


def _reports(field: Field) -> Mapping[str, tuple[str, ...]]:
    """Paths by kind of report; that of the coverage is read apart, as it has a format."""
    if not field.has_keys_of(REPORTS) or not isinstance(field.value, Map):
        return {}
    given = [kind for kind in field.value if kind in REPORTS and kind != "coverage_report" and field.given(kind)]
    found = {kind: checks.strings_or_string(field.attribute(kind)) for kind in given}
    return {kind: paths for kind, paths in found.items() if paths is not None}


def _coverage_report(reports: Field) -> CoverageReport | None:
    if not reports.given("coverage_report"):
        return None
    field = reports.entry("coverage_report")
    if not field.has_keys_of(COVERAGE_REPORT):
        return None
    path = checks.required_text(field, "path")
    if not field.given("coverage_format"):
        checks.lacks(field, "coverage_format")
        return None
    said = f"must be one of supported formats: {', '.join(COVERAGE_FORMATS)}"
    coverage_format = checks.choice(field.attribute("coverage_format"), COVERAGE_FORMATS, said)
    return CoverageReport(coverage_format, path) if coverage_format and path else None
