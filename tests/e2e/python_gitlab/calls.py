"""The calls that python-gitlab makes, counted as they leave.

They are told apart by method and address, with what differs between objects left out.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

import requests

_NUMBERED: Final = re.compile(r"(?<=/)(\d+|[0-9a-f]{40})(?=/|$)")
_NAMED: Final = re.compile(
    r"/(blobs|branches|commits|files|gitlab_ci_ymls|groups|integrations|namespaces|protected_branches|protected_tags"
    r"|releases|resource_groups|tags|variables|projects)/[^/]+"
)


@dataclass
class Calls:
    """The different calls that a session has made."""

    seen: set[str] = field(default_factory=set)

    def note(self, response: requests.Response, *_: Any, **__: Any) -> None:
        """Remember one; one that was refused does not count."""
        path = re.sub(r"^https?://[^/]+/api/v4", "", response.request.url or "").partition("?")[0]
        kind = _NAMED.sub(r"/\1/*", _NUMBERED.sub("*", path))
        if response.ok:
            self.seen.add(f"{response.request.method} {kind}")
