"""Addresses of merge requests' pages."""

from models.rows.merge_requests import MergeRequestRow


def page_of(row: MergeRequestRow, full_path: str, url: str) -> str:
    """Address of a merge request's page."""
    return f"{url}/{full_path}/-/merge_requests/{row.iid}"
