"""What jobs may hand in: types, the formats of each, and how large a file may be.

Reference: runner protocol, section 6.1; CI YAML, section 16.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from api.runner.payload_artifacts import REPORTS
from domain.errors import Invalid, TooLarge
from models.repositories.artifacts import ARCHIVE
from settings import Settings

MIB: Final = 1024 * 1024

FORMATS: Final[Mapping[str, frozenset[str]]] = {
    ARCHIVE: frozenset({"zip", "zipzstd", "tarzstd"}),
    **{kind: frozenset({report.file_format}) for kind, report in REPORTS.items()},
}
"""By type; a runner packs an archive by zstd when its own settings say so."""

LIMITS: Final[Mapping[str, int]] = {
    "cyclonedx": 5 * MIB,
    "dotenv": 64 * 1024,
    "lsif": 200 * MIB,
    "repository_xray": 1024 * MIB,
    "terraform": 5 * MIB,
}
"""Bytes of types that have a limit of their own, as by default in GitLab. Unpacked a dotenv file may be yet smaller."""


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """Bytes of one file, and what set them."""

    size: int
    set_by: str

    def check(self, announced: str) -> None:
        """Raise `TooLarge` for a length that a caller tells beforehand; what is no number tells nothing."""
        if announced.isascii() and announced.isdigit() and int(announced) > self.size:
            raise TooLarge(f"413 Request Entity Too Large: at most {self.size} bytes are taken ({self.set_by}).")


def artifact_type(kind: str, file_format: str) -> tuple[str, str]:
    """Type and format of an upload, an archive in zip by default. Raises `Invalid` unless they go together."""
    kind, file_format = kind or ARCHIVE, file_format or "zip"
    if kind not in FORMATS:
        raise Invalid(f"400 Bad request: artifact_type {kind[:50]!r} is not known.")
    if file_format not in FORMATS[kind]:
        permitted = " or ".join(sorted(FORMATS[kind]))
        raise Invalid(f"400 Bad request: Invalid file format with specified file type: {kind} comes as {permitted}.")
    return kind, file_format


def limit_of(kind: str, project_mib: int | None, settings: Settings) -> SizeLimit:
    """How large a file of a type may be: the type's own limit, else the project's, else that of the installation."""
    if kind in LIMITS:
        return SizeLimit(LIMITS[kind], f"the limit of {kind}")
    if project_mib is not None:
        return SizeLimit(project_mib * MIB, "max_artifacts_size of the project")
    return SizeLimit(settings.sizes.artifact_bytes, "PERDURE_ARTIFACT_BYTES")
