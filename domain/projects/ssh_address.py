"""The address that GitLab gives for cloning a project over SSH: always a text, since clients take it for one."""

from urllib.parse import urlsplit


def ssh_address(url: str, full_path: str) -> str:
    """`git@HOST:GROUP/NAME.git` for an installation at `url`. Nothing answers SSH there."""
    host = urlsplit(url).hostname or ""
    return f"git@{f'[{host}]' if ':' in host else host}:{full_path}.git"
