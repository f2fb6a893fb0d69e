"""What jobs may hand in: types, the formats of each, and how large a file may be.

Source: docs/reference/runner-protocol.md, "Artifacts and cache"; docs/reference/ci-yaml.md, "Limits".
"""

from collections.abc import Mapping
from typing import Final

from api.runner.payloads.artifacts import REPORTS
from domain.errors import Invalid, TooLarge
from domain.size_limits import SizeLimit, fixed, of_installation, of_project
from domain.steps.kept_results import MAX_FILE
from models.repositories.artifacts.artifacts import ARCHIVE, STEPS
from settings import Settings

MIB: Final = 1024 * 1024

FORMATS: Final[Mapping[str, frozenset[str]]] = {
    ARCHIVE: frozenset({"zip", "zipzstd", "tarzstd"}),
    **{kind: frozenset({report.file_format}) for kind, report in REPORTS.items()},
    STEPS: frozenset({"raw"}),
}
"""By type; a runner packs an archive by zstd when its own settings say so, and hands in results of steps unasked."""

LIMITS: Final[Mapping[str, int]] = {
    "cyclonedx": 5 * MIB,
    "dotenv": 64 * 1024,
    "lsif": 200 * MIB,
    "repository_xray": 1024 * MIB,
    STEPS: MAX_FILE,
    "terraform": 5 * MIB,
}
"""Bytes of types that have a limit of their own, as by default in GitLab, which knows no results of steps.

Unpacked a dotenv file may be yet smaller.
"""

_WORDS: Final = {ARCHIVE: "the archive of artifacts", STEPS: "the file of results of steps"}
"""What files are called that are no reports."""


def check(limit: SizeLimit, kind: str, announced: str) -> None:
    """Raise `TooLarge` for a length that a caller tells beforehand; what is no number tells nothing."""
    if announced.isascii() and announced.isdigit() and int(announced) > limit.size:
        raise too_large(limit, kind, int(announced))


def too_large(limit: SizeLimit, kind: str, size: int | None = None) -> TooLarge:
    """The error for a file of a type; `size` is how large it is where that is known."""
    return TooLarge(limit.exceeded(_WORDS.get(kind, f"the {kind} report"), size))


def artifact_type(kind: str, file_format: str) -> tuple[str, str]:
    """Type and format of an upload, an archive in zip by default. Raises `Invalid` unless they go together."""
    kind, file_format = kind or ARCHIVE, file_format or "zip"
    if kind not in FORMATS:
        raise Invalid(f"Bad request: artifact_type {kind[:50]!r} is not known.")
    if file_format not in FORMATS[kind]:
        permitted = " or ".join(sorted(FORMATS[kind]))
        raise Invalid(f"Bad request: Invalid file format with specified file type: {kind} comes as {permitted}.")
    return kind, file_format


def limit_of(kind: str, project_mib: int | None, settings: Settings) -> SizeLimit:
    """How large a file of a type may be: the type's own limit, else the project's, else that of the installation."""
    if kind in LIMITS:
        return fixed(f"{kind} reports", LIMITS[kind])
    if project_mib is not None:
        return of_project("max_artifacts_size", project_mib * MIB)
    return of_installation(
        "PERDURE_ARTIFACT_BYTES", settings.sizes.artifact_bytes, ", or give this project a max_artifacts_size"
    )
