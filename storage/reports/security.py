"""Reads the reports of security scanners: all of them follow GitLab's one schema.

An entry is a finding: `{"fingerprint", "name", "severity", "description", "solution", "file", "line", "place",
"identifiers"}`; `place` is what the finding is in, where that is no file: an image, a package, an address. The summary
counts findings by severity.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from domain.errors import Invalid
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

SEVERITIES: Final = ("critical", "high", "medium", "low", "info", "unknown")
"""From the worst to the least."""
_WHAT: Final = "security report"
_IDENTIFIER: Final = ("type", "name", "value", "url")
_PLACE: Final = ("image", "operating_system", "hostname", "method", "path", "param", "crash_address")
"""What a location may name beside a file."""


def parse_security(data: bytes) -> Content:
    """Read the findings of one scanner, of several files one after another."""
    entries: list[dict[str, Any]] = []
    for document in documents(data, _WHAT):
        report = json_document(document, dict, _WHAT)
        if "vulnerabilities" not in report:
            raise Invalid(f"The {_WHAT} has no list `vulnerabilities`.")
        entries += [_finding(item) for item in objects_in(report["vulnerabilities"], _WHAT)]
        require_few(entries, _WHAT)
    return Content(counted(entries, "severity", SEVERITIES), entries)


def _finding(item: Mapping[str, Any]) -> dict[str, Any]:
    location = object_of(item.get("location"))
    identifiers = _identifiers(item.get("identifiers"))
    severity = text(item.get("severity")).lower()
    return {
        "fingerprint": _fingerprint(item, identifiers, location),
        "name": text(item.get("name")) or text(item.get("message")) or _first_name(identifiers),
        "severity": severity if severity in SEVERITIES else "unknown",
        "description": text(item.get("description")),
        "solution": text(item.get("solution")),
        "file": text(location.get("file")),
        "line": whole_number(location.get("start_line")),
        "place": _place(location),
        "identifiers": identifiers,
    }


def _identifiers(value: Any) -> list[dict[str, str]]:
    given = value if isinstance(value, list) else []
    return [{name: text(item.get(name)) for name in _IDENTIFIER} for item in given[:20] if isinstance(item, dict)]


def _first_name(identifiers: list[dict[str, str]]) -> str:
    return identifiers[0]["name"] if identifiers else ""


def _place(location: Mapping[str, Any]) -> str:
    words = [text(location.get(name)) for name in _PLACE]
    dependency = object_of(location.get("dependency"))
    words += [text(object_of(dependency.get("package")).get("name")), text(dependency.get("version"))]
    return " ".join(word for word in words if word)


def _fingerprint(item: Mapping[str, Any], identifiers: list[dict[str, str]], location: Mapping[str, Any]) -> str:
    """The same for the same finding in a later report: a finding's own id may be new each time."""
    first = [identifiers[0]["type"], identifiers[0]["value"]] if identifiers else [text(item.get("name"))]
    return hashlib.sha256(orjson.dumps([first, location], option=orjson.OPT_SORT_KEYS)).hexdigest()
