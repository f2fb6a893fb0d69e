"""Reads reports on the code and the pages themselves: code quality, accessibility.

An entry of code quality is `{"fingerprint", "description", "check", "severity", "file", "line"}`, the summary counts by
severity. An entry of accessibility is `{"url", "code", "type", "message", "selector"}`, the summary counts by type.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from storage.reports.content import (
    Content,
    counted,
    documents,
    json_document,
    object_of,
    objects_in,
    require_few,
    text,
    whole_number,
)

SEVERITIES: Final = ("blocker", "critical", "major", "minor", "info", "unknown")
"""Of code quality, from the worst to the least."""
_QUALITY: Final = "code quality report"
_PAGES: Final = "accessibility report"


def parse_code_quality(data: bytes) -> Content:
    """Read Code Climate's format: a JSON list of issues."""
    entries: list[dict[str, Any]] = []
    for document in documents(data, _QUALITY):
        entries += [_issue(item) for item in objects_in(json_document(document, list, _QUALITY), _QUALITY)]
        require_few(entries, _QUALITY)
    return Content(counted(entries, "severity", SEVERITIES), entries)


def _issue(item: Mapping[str, Any]) -> dict[str, Any]:
    location = object_of(item.get("location"))
    severity = text(item.get("severity")).lower()
    return {
        "fingerprint": text(item.get("fingerprint")),
        "description": text(item.get("description")),
        "check": text(item.get("check_name")),
        "severity": severity if severity in SEVERITIES else "unknown",
        "file": text(location.get("path")),
        "line": _line(location),
    }


def _line(location: Mapping[str, Any]) -> int:
    """`lines.begin`, else `positions.begin.line`; 0 when neither is there."""
    begin: Any = location
    for names in (("lines", "begin"), ("positions", "begin", "line")):
        begin = location
        for name in names:
            begin = begin.get(name) if isinstance(begin, dict) else None
        if begin is not None:
            break
    return whole_number(begin)


def parse_accessibility(data: bytes) -> Content:
    """Read pa11y's format: `results` maps an address to what was found there."""
    entries: list[dict[str, Any]] = []
    for document in documents(data, _PAGES):
        results = json_document(document, dict, _PAGES).get("results")
        for url, found in (results if isinstance(results, dict) else {}).items():
            entries += [_barrier(url, item) for item in objects_in(found, _PAGES)]
            require_few(entries, _PAGES)
    return Content(dict(Counter(entry["type"] for entry in entries)), entries)


def _barrier(url: str, item: Mapping[str, Any]) -> dict[str, Any]:
    kind = text(item.get("type"))
    return {
        "url": text(url),
        "code": text(item.get("code")),
        "type": kind if kind in {"error", "warning", "notice"} else "unknown",
        "message": text(item.get("message")),
        "selector": text(item.get("selector")),
    }
