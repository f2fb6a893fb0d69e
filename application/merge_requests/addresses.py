"""Addresses of merge requests' pages."""

from typing import Any


def page_of(row: Any, full_path: str, url: str) -> str:
    """Address of a merge request's page."""
    return f"{url}/{full_path}/-/merge_requests/{row.iid}"
