"""What the source's project has that is not carried: counted, and told."""

from cli.importing.patient_api import GaveUp
from cli.importing.report import Report
from cli.importing.source import Source
from domain.errors import NotFound, PerdureError
from domain.project_import.left_behind import Part, group_variables, not_seen, parts_of, told
from domain.project_import.places import Place
from domain.project_import.plan import NotCarried


def look_around(source: Source, report: Report) -> None:
    """Note what stays behind; a list that the token may not read is noted as that."""
    for part in parts_of(source.project):
        report.add(*_seen(source, part))
    for group in Place(source.group, "").groups:
        report.add(*_variables(source, group))


def _seen(source: Source, part: Part) -> list[NotCarried]:
    try:
        return told(part, source.counted(part.route, dict(part.query)))
    except GaveUp:
        raise
    except NotFound:  # a server of that version or edition has no such thing, or it is turned off
        return []
    except PerdureError as error:
        return [not_seen(part.kind, str(error))]


def _variables(source: Source, group: str) -> list[NotCarried]:
    try:
        return group_variables(group, source.variables_of_group(group))
    except GaveUp:
        raise
    except PerdureError as error:
        return [not_seen("group_variable", str(error))]
