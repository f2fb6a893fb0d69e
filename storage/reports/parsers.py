"""Which reports are read, and by what; each is pure and takes up to a second: call it in a thread."""

from collections.abc import Callable, Mapping
from typing import Final

from storage.reports.content import Content
from storage.reports.coverage import parse_cobertura, parse_jacoco
from storage.reports.deployment import parse_annotations, parse_metrics, parse_terraform
from storage.reports.dotenv import parse_dotenv
from storage.reports.quality import parse_accessibility, parse_code_quality
from storage.reports.security import parse_security

SCANNERS: Final = (
    "api_fuzzing",
    "cluster_image_scanning",
    "container_scanning",
    "coverage_fuzzing",
    "dast",
    "dependency_scanning",
    "sast",
    "secret_detection",
)
"""Types of reports with security findings."""
CODE_QUALITY: Final = "codequality"
COVERAGE: Final = frozenset({"cobertura", "jacoco"})

PARSERS: Final[Mapping[str, Callable[[bytes], Content]]] = {
    "accessibility": parse_accessibility,
    "annotations": parse_annotations,
    "cobertura": parse_cobertura,
    CODE_QUALITY: parse_code_quality,
    "dotenv": parse_dotenv,
    "jacoco": parse_jacoco,
    "metrics": parse_metrics,
    "terraform": parse_terraform,
    **dict.fromkeys(SCANNERS, parse_security),
}
"""By type of artifact. Test reports have a reader and a table of their own (`storage.reports.junit`)."""
JUNIT: Final = "junit"
DOTENV: Final = "dotenv"
READ: Final = frozenset({*PARSERS, JUNIT})
"""Types of artifacts that are read at all."""
