"""Badges of projects and groups: placeholders in their addresses, and what the pictures say in which colour.

GitLab: "Badges", "Project badges API".
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from domain.errors import FieldsInvalid
from domain.pipelines.shown_status import shown_as
from domain.pipelines.status import Status

MAX_ADDRESS: Final = 2000
"""Characters of an address."""
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'\\\x00-\x1f]+", re.IGNORECASE)
_PLACEHOLDER: Final = re.compile(r"%\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class BadgeFacts:
    """What placeholders stand for; None where nobody knows or there is none."""

    project_path: str
    project_title: str
    project_name: str
    project_id: int
    default_branch: str
    server: str
    commit_sha: str | None = None
    latest_tag: str | None = None


_MEANINGS: Final[Mapping[str, Callable[[BadgeFacts], str | None]]] = {
    "project_path": lambda facts: facts.project_path,
    "project_title": lambda facts: facts.project_title,
    "project_name": lambda facts: facts.project_name,
    "project_id": lambda facts: str(facts.project_id),
    "project_namespace": lambda facts: facts.project_path.rpartition("/")[0],
    "group_name": lambda facts: facts.project_path.partition("/")[0],
    "gitlab_server": lambda facts: facts.server,
    "default_branch": lambda facts: facts.default_branch,
    "commit_sha": lambda facts: facts.commit_sha,
    "latest_tag": lambda facts: facts.latest_tag,
}


def checked_address(address: str, field: str) -> str:
    """The address, which may hold placeholders. Raises `Invalid` for one that is not of http or https."""
    if len(address) > MAX_ADDRESS or not _ADDRESS.fullmatch(address):
        raise FieldsInvalid(
            **{field: f"is invalid: give an http or https address of at most {MAX_ADDRESS} characters."}
        )
    return address


def names_in(*addresses: str) -> frozenset[str]:
    """The placeholders that addresses hold."""
    return frozenset(name for address in addresses for name in _PLACEHOLDER.findall(address))


def rendered(address: str, facts: BadgeFacts | None) -> str:
    """The address with what its placeholders stand for; what is not known stays as it is written."""
    if facts is None:
        return address

    def meaning(match: re.Match[str]) -> str:
        known = _MEANINGS.get(match[1])
        value = None if known is None else known(facts)
        return match[0] if value is None else quote(value, safe="/:")

    return _PLACEHOLDER.sub(meaning, address)


UNKNOWN: Final = "unknown"
_GREEN, _YELLOW, _RED, _GREY, _BLUE = "#4c1", "#dfb317", "#e05d44", "#9f9f9f", "#3076af"
_OF_STATUS: Final[Mapping[str, str]] = {
    Status.SUCCESS: _GREEN,
    Status.FAILED: _RED,
    Status.RUNNING: _YELLOW,
    Status.PENDING: _YELLOW,
    Status.PREPARING: "#a7a7a7",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What the right half of a picture says, and its colour."""

    text: str
    color: str


def said_of_status(status: str | None) -> Said:
    """A pipeline's status; None is that of no pipeline."""
    if status is None:
        return Said(UNKNOWN, _GREY)
    return Said(shown_as(status).text.lower(), _OF_STATUS.get(status, _GREY))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least coverages, in percent, that count as so much."""

    good: float = 95
    acceptable: float = 90
    medium: float = 75


def said_of_coverage(coverage: float | None, least: Thresholds) -> Said:
    """A coverage in percent; None is unknown."""
    if coverage is None:
        return Said(UNKNOWN, _GREY)
    steps = ((least.good, _GREEN), (least.acceptable, "#a3c51c"), (least.medium, _YELLOW))
    return Said(f"{coverage:.2f}%", next((color for limit, color in steps if coverage >= limit), _RED))


def said_of_release(tag: str | None) -> Said:
    """The tag of the latest release; None while there is none."""
    return Said("none", _RED) if tag is None else Said(tag, _BLUE)
