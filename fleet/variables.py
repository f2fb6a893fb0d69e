"""The environment of a job's scripts: the server's variables, the runner's own, and little of this machine's.

Source: docs/reference/runner-protocol.md, "Job variables".
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleet.executors.rights import JobRights
from fleet.job import JobVariable

NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
REFERENCE: Final = re.compile(r"\$(?:\$|([a-zA-Z_][a-zA-Z0-9_]*)|\{([a-zA-Z_][a-zA-Z0-9_]*)\})")

INHERITED: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "SSL_CERT_FILE",
        "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    }
)  # fmt: skip
"""What scripts see of the runner's own environment, besides `LC_*`; its secrets are not among them."""


def machine_environment(rights: JobRights | None = None) -> dict[str, str]:
    """The part of this process' environment that jobs may see, and what belongs to their rights."""
    inherited = {key: value for key, value in os.environ.items() if key in INHERITED or key.startswith("LC_")}
    if rights is None:
        return inherited
    if rights.uid != os.geteuid():
        inherited.pop("TMPDIR", None)  # a folder of ours
    return {**inherited, **rights.environment()}


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace `$X` and `${X}` once: an unknown name gives nothing, `$$` gives `$`, results are not expanded again."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return values.get(name, "") if name else "$"

    return REFERENCE.sub(value, text)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Final values by name, and the contents of the files that file variables name."""

    values: dict[str, str]
    files: dict[Path, str]


def resolve(variables: Iterable[JobVariable], folder: Path) -> Resolved:
    """Expand every variable once; of duplicates the last wins, raw ones keep their `$`.

    The value of a file variable becomes the content of `folder/<name>`, its name stands for that path, also where
    other variables refer to it.
    """
    last = {variable.key: variable for variable in variables}
    plain = {key: str(folder / key) if variable.file else variable.value for key, variable in last.items()}
    final = {key: variable.value if variable.raw else expand(variable.value, plain) for key, variable in last.items()}
    return Resolved(
        values={key: plain[key] if variable.file else final[key] for key, variable in last.items()},
        files={folder / key: final[key] for key, variable in last.items() if variable.file},
    )


def usable(variables: Iterable[JobVariable]) -> tuple[list[JobVariable], list[str]]:
    """Split into variables that a process can be given and the names of those it cannot."""
    good: list[JobVariable] = []
    bad: list[str] = []
    for variable in variables:
        if NAME.fullmatch(variable.key) and (variable.file or "\0" not in variable.value):
            good.append(variable)
        else:
            bad.append(variable.key)
    return good, bad
