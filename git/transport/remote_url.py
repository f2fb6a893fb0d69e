"""What the address of a git remote says about the project behind it."""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

_SCP_FORM: Final = re.compile(r"(?:[^/@:]+@)?(?P<host>[^/@:]{2,}):(?!/)(?P<path>.+)")
"""`user@host:path`, as scp takes it; one letter before the colon is a drive of Windows."""
_WEB: Final = frozenset({"http", "https"})
_NETWORK: Final = frozenset({"http", "https", "ssh", "git", "git+ssh"})


def project_path_of(url: str) -> str:
    """Full path of the project (`group/name`) behind a remote's address; empty when the address does not say it."""
    scp = _SCP_FORM.fullmatch(url)
    if "://" not in url:
        path = scp["path"] if scp else ""
    else:
        try:
            parts = urlsplit(url)
        except ValueError:
            return ""
        path = unquote(parts.path) if parts.scheme in _NETWORK else ""
    path = path.strip("/").removesuffix(".git").strip("/")
    return path if "/" in path else ""


def server_of(url: str) -> str:
    """The web address of the server behind a remote's address, without credentials; empty when it does not say it.

    A remote that is reached by ssh is taken to be at the same host by https.
    """
    scp = _SCP_FORM.fullmatch(url)
    if "://" not in url:
        return f"https://{scp['host']}" if scp else ""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    if parts.scheme not in _NETWORK or not parts.hostname:
        return ""
    return f"{parts.scheme}://{parts.hostname}{port}" if parts.scheme in _WEB else f"https://{parts.hostname}"
