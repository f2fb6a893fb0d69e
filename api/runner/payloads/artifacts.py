"""What a runner uploads of a job and downloads for it.

Source: docs/reference/runner-protocol.md, "Artifacts and cache", "Job document".
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol


class Report(NamedTuple):
    """How a type of report is uploaded: the format and the name of its file."""

    file_format: str
    file_name: str


_GZIP, _RAW, _ZIP = "gzip", "raw", "zip"

REPORTS: Final[Mapping[str, Report]] = {
    "accessibility": Report(_RAW, "gl-accessibility.json"),
    "annotations": Report(_GZIP, "gl-annotations.json"),
    "api_fuzzing": Report(_RAW, "gl-api-fuzzing-report.json"),
    "browser_performance": Report(_RAW, "browser-performance.json"),
    "cluster_image_scanning": Report(_RAW, "gl-cluster-image-scanning-report.json"),
    "cobertura": Report(_GZIP, "cobertura-coverage.xml"),
    "codequality": Report(_RAW, "gl-code-quality-report.json"),
    "container_scanning": Report(_RAW, "gl-container-scanning-report.json"),
    "coverage_fuzzing": Report(_RAW, "gl-coverage-fuzzing.json"),
    "cyclonedx": Report(_GZIP, "gl-sbom.cdx.json"),
    "dast": Report(_RAW, "gl-dast-report.json"),
    "dependency_scanning": Report(_RAW, "gl-dependency-scanning-report.json"),
    "dotenv": Report(_GZIP, ".env"),
    "jacoco": Report(_GZIP, "jacoco-coverage.xml"),
    "junit": Report(_GZIP, "junit.xml"),
    "license_scanning": Report(_RAW, "gl-license-scanning-report.json"),
    "load_performance": Report(_RAW, "load-performance.json"),
    "lsif": Report(_ZIP, "lsif.json"),
    "metrics": Report(_GZIP, "metrics.txt"),
    "performance": Report(_RAW, "performance.json"),
    "repository_xray": Report(_GZIP, "gl-repository-xray.json"),
    "requirements": Report(_RAW, "requirements.json"),
    "requirements_v2": Report(_RAW, "requirements_v2.json"),
    "sarif": Report(_RAW, "gl-sarif-report.sarif"),
    "sast": Report(_RAW, "gl-sast-report.json"),
    "secret_detection": Report(_RAW, "gl-secret-detection-report.json"),
    "terraform": Report(_RAW, "tfplan.json"),
}
"""Reports by type, as GitLab has them; the two of coverage are formats of `coverage_report`."""


def artifacts(document: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Every upload of a job, the archive first. Raises KeyError for a report that nobody knows."""
    if not document:
        return []
    expire_in = document.get("expire_in", "")
    uploads = [_archive(document)] if document.get("paths") or document.get("untracked") else []
    uploads += [_report(kind, paths, expire_in) for kind, paths in document.get("reports", {}).items()]
    coverage = document.get("coverage_report")
    if coverage:
        uploads.append(_report(coverage["coverage_format"], [coverage["path"]], expire_in))
    return uploads


class Fetched(Protocol):
    """An archive of a job."""

    @property
    def id(self) -> int:
        """The id of the job."""

    @property
    def name(self) -> str:
        """The name of the job."""

    @property
    def filename(self) -> str:
        """The name of the file."""

    @property
    def size(self) -> int:
        """Bytes of the file."""


def dependency(row: Fetched, token: str) -> dict[str, Any]:
    """An archive that the runner fetches before the script, with the token that opens it."""
    return {
        "id": row.id,
        "token": token,
        "name": row.name,
        "artifacts_file": {"filename": row.filename, "size": row.size},
    }


def _archive(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": document.get("name", ""),
        "untracked": document.get("untracked", False),
        "paths": list(document.get("paths", ())),
        "exclude": list(document.get("exclude", ())),
        "when": document.get("when", "on_success"),
        "artifact_type": "archive",
        "artifact_format": _ZIP,
        "expire_in": document.get("expire_in", ""),
    }


def _report(kind: str, paths: Iterable[str], expire_in: str) -> dict[str, Any]:
    """Reports are always uploaded, whatever became of the job."""
    return {
        "name": REPORTS[kind].file_name,
        "untracked": False,
        "paths": list(paths),
        "exclude": [],
        "when": "always",
        "artifact_type": kind,
        "artifact_format": REPORTS[kind].file_format,
        "expire_in": expire_in,
    }
