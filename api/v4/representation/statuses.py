"""States in GitLab's `detailed_status`; the words are those of `domain.pipelines.shown_status`."""

from typing import Any

from typing_extensions import TypedDict

from domain.pipelines.shown_status import Shown


class DetailedStatusResponse(TypedDict):
    """A state as GitLab's pages show it."""

    icon: str
    text: str
    label: str
    group: str
    tooltip: str
    has_details: bool
    details_path: str
    illustration: dict[str, Any] | None
    favicon: str


def detailed_status(shown: Shown, path: str) -> DetailedStatusResponse:
    """GitLab's `detailed_status`; `path` leads to the page."""
    return {
        "icon": shown.icon,
        "text": shown.text,
        "label": shown.label,
        "group": shown.group,
        "tooltip": shown.label,
        "has_details": True,
        "details_path": path,
        "illustration": None,
        "favicon": "/favicon.ico",
    }
