"""One number of a pipeline is told everywhere: its id."""

import re
from pathlib import Path

from domain.pipelines.named_pipeline import named_pipeline

ROOT = Path(__file__).parents[3]
PLACES = ("activities", "api", "application", "cli", "domain", "loops", "models", "workflows")
_ALONE = re.compile(r"#\{{1,2} ?[\w.]*iid|(?:[Pp]ipeline|[Nn]umber) \{{1,2} ?[\w.]*iid")
"""A number within a project after a word or a sign that stands before ids elsewhere."""
_OF_DEPLOYMENTS = frozenset({"_environment.html", "_rail.html"})
"""Deployments are called by their number within the project, as in GitLab."""


def test_a_pipeline_is_called_by_its_id() -> None:
    assert named_pipeline(14) == "pipeline 14"


def test_no_place_calls_a_pipeline_by_its_number_within_its_project_alone() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for place in PLACES
        for path in (ROOT / place).rglob("*")
        if path.suffix in {".py", ".html", ".txt", ".js"} and path.name not in _OF_DEPLOYMENTS
        for match in _ALONE.finditer(path.read_text())
    ]
    assert found == ["api/pages/templates/frame/macros.html: number {{ pipeline.iid"], "beside its id"
