"""Reads what a job tells of the world outside: metrics, Terraform's plan, links.

Entries: of metrics `{"name", "value"}`, `name` with its labels; of Terraform `{"create", "update", "delete"}`, one for
each plan, which the summary adds up; of annotations `{"group", "label", "url"}`.
"""

from typing import Any, Final
from urllib.parse import urlsplit

from domain.errors import Invalid
from domain.text_lines import lines_of
from storage.reports.content import (
    Content,
    documents,
    json_document,
    object_of,
    objects_in,
    require_few,
    text,
    whole_number,
)

_METRICS: Final = "metrics report"
_TERRAFORM: Final = "Terraform report"
_ANNOTATIONS: Final = "annotations report"
_CHANGES: Final = ("create", "update", "delete")


def parse_metrics(data: bytes) -> Content:
    """Read OpenMetrics text: `name{label="x"} value`, after which a time may stand; comments are left out."""
    entries: list[dict[str, Any]] = []
    for document in documents(data, _METRICS):
        for number, line in enumerate(lines_of(document.decode("utf-8", "replace")), start=1):
            stripped = line.strip()
            if stripped and not stripped.startswith("#"):
                entries.append(_sample(stripped, number))
        require_few(entries, _METRICS)
    return Content({}, entries)


def _sample(line: str, number: int) -> dict[str, Any]:
    """Labels may hold blanks, so the name ends with the brace that closes them."""
    head, brace, rest = line.rpartition("}")
    name, _, values = (head + brace, " ", rest) if brace else line.partition(" ")
    words = values.split()
    if not name or not 1 <= len(words) <= 2:
        raise Invalid(f"Line {number} of the {_METRICS} is no `name value`.")
    return {"name": text(name), "value": text(words[0])}


def parse_terraform(data: bytes) -> Content:
    """Read how many resources a plan creates, updates and deletes."""
    plans = [json_document(document, dict, _TERRAFORM) for document in documents(data, _TERRAFORM)]
    for plan in plans:
        if not set(_CHANGES) & plan.keys():
            raise Invalid(f"The {_TERRAFORM} has none of the counts {', '.join(_CHANGES)}.")
    entries = [{name: whole_number(plan.get(name)) for name in _CHANGES} for plan in plans]
    return Content({name: sum(entry[name] for entry in entries) for name in _CHANGES}, entries)


def parse_annotations(data: bytes) -> Content:
    """Read links to show with the job; only those to web pages are taken."""
    entries: list[dict[str, Any]] = []
    for document in documents(data, _ANNOTATIONS):
        for group, items in json_document(document, dict, _ANNOTATIONS).items():
            entries += [_link(group, item) for item in objects_in(items, _ANNOTATIONS)]
            require_few(entries, _ANNOTATIONS)
    return Content({}, entries)


def _link(group: str, item: dict[str, Any]) -> dict[str, str]:
    link = object_of(item.get("external_link"))
    label, url = text(link.get("label")), text(link.get("url"))
    try:
        address = urlsplit(url)
    except ValueError:
        address = urlsplit("")
    if not label or address.scheme not in {"http", "https"} or not address.netloc:
        raise Invalid(f"An entry of the {_ANNOTATIONS} is no external_link with a label and a web address.")
    return {"group": text(group), "label": label, "url": url}
