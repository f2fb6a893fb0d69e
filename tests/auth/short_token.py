"""How GitLab Runner shortens a token: it names build folders, log lines and its record of healthy servers by that.

Written from what its releases do; the folder of a job is `<builds_dir>/<short token>/<concurrent id>/<project>`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

_PREFIXES: Final = (
    re.compile(r"^glrt-(?:t[123]_)?|^t[123]_|^glrtr-"),
    re.compile(r"^glcbt-"),
    re.compile(r"^GR[0-9A-Fa-f]{7}"),
)
_LENGTH: Final = 9


def until_17(token: str) -> str:
    """16.0 to 17.8: nine characters of whatever begins with `glrt`, from the sixth one on."""
    if token.startswith("glrt"):
        return token[5:14]
    return token[:17] if re.match(r"GR[0-9A-Fa-f]{7}", token) else token[:8]


def with_each_prefix(token: str) -> str:
    """The releases after that: nine characters behind `glrt-`, `glrtr-` or `glcbt-`."""
    for prefix in ("glrt-", "glrtr-", "glcbt-"):
        if token.startswith(prefix):
            return token.removeprefix(prefix)[:_LENGTH]
    return until_17(token)


def newest(token: str) -> str:
    """Those of today: nine characters behind whatever prefixes there are, the type of a runner too."""
    for prefix in _PREFIXES:
        token = prefix.sub("", token)
    return token[:_LENGTH]


RULES: Final[Mapping[str, Callable[[str], str]]] = {
    "until 17.8": until_17,
    "with each prefix": with_each_prefix,
    "newest": newest,
}
