"""Component addresses, `host/group/project/name@version`: their parts, where the file is, which version is meant.

Source: docs/reference/ci-yaml.md, "Includes". The search itself is the caller's: it knows projects, refs and
permissions.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from domain.errors import Invalid

LATEST: Final = "~latest"
"""The version that means "the highest release"."""

_NUMBER: Final = r"(0|[1-9][0-9]{0,17})"
_RELEASE: Final = re.compile(
    rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z.-]{{1,255}}))?(?:\+[0-9A-Za-z.-]{{1,255}})?", re.ASCII
)
"""A release by Semantic Versioning 2.0.0, with or without a `v`."""
_PARTIAL: Final = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})?", re.ASCII)
"""`1` or `1.2`: the highest release that begins so."""
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ComponentAddress:
    """The parts of an address. `host` may have a port; `project` is a full path."""

    text: str
    host: str
    project: str
    name: str
    version: str

    @property
    def paths(self) -> tuple[str, str]:
        """Where the file may be, the first that exists is taken."""
        return f"templates/{self.name}.yml", f"templates/{self.name}/template.yml"

    def error(self, text: str) -> str:
        """A message about this component, in GitLab's form."""
        return f"component '{self.text}' - {text}"


def read_address(text: str) -> ComponentAddress:
    """Take an address apart. Raises `Invalid` in GitLab's words when it has not the form."""
    before, _, version = text.partition("@")
    host, _, path = before.partition("/")
    project, _, name = path.rpartition("/")
    if not (host and "/" in project.strip("/") and _NAME.fullmatch(name) and version and "@" not in version):
        raise Invalid(
            f"component '{text}' - unsupported path; write it as `$CI_SERVER_FQDN/group/project/name@version`, "
            f"where version is a sha, a tag, a branch, `1.2`, or `{LATEST}`"
        )
    return ComponentAddress(text, host.lower(), project, name, version)


def is_range(version: str) -> bool:
    """Whether a version stands for the highest of several releases: `~latest`, `1`, `1.2`."""
    return version == LATEST or _PARTIAL.fullmatch(version) is not None


def is_release(tag: str) -> bool:
    """Whether a tag names a release, so that it is a version."""
    return _RELEASE.fullmatch(tag) is not None


def highest(tags: Iterable[str], version: str) -> str | None:
    """The tag of the highest release in a range (`is_range`); final ones only. None if there is none."""
    start = () if version == LATEST else tuple(int(number) for number in version.split("."))
    found = [(numbers, tag) for tag in tags if (numbers := _final(tag)) is not None and numbers[: len(start)] == start]
    return max(found)[1] if found else None


def _final(tag: str) -> tuple[int, ...] | None:
    """The three numbers of a release; None for any other tag, and for a pre-release."""
    match = _RELEASE.fullmatch(tag)
    if match is None or match[4]:
        return None
    return tuple(int(number) for number in match.groups()[:3])
