"""Job payloads for the tests, in the shape of the protocol's minimal job."""

from typing import Any

TOKEN = "glcbt-1-secret"


def payload(script: list[str] | None = None, job_id: int = 1, **changes: Any) -> dict[str, Any]:
    """A job without a repository; `variables` given as a mapping are added to the list."""
    variables = {"GIT_STRATEGY": "empty", "CI": "true", **changes.pop("variables", {})}
    job: dict[str, Any] = {
        "id": job_id,
        "token": f"glcbt-{job_id}-secret",
        "allow_git_fetch": True,
        "job_info": {"name": "hello", "stage": "test", "project_id": 1, "project_name": "demo"},
        "git_info": {"repo_url": "", "ref": "main", "sha": "0" * 40, "refspecs": [], "depth": 0},
        "runner_info": {"timeout": 600},
        "variables": [
            *({"key": key, "value": value, "public": True, "masked": False} for key, value in variables.items()),
            *changes.pop("extra_variables", []),
        ],
        "steps": [{"name": "script", "script": script or ["echo hello"], "timeout": 600, "when": "on_success"}],
        "image": None,
        "artifacts": [],
        "dependencies": [],
        "features": {"trace_sections": True, "failure_reasons": ["job_canceled"]},
    }
    if after := changes.pop("after_script", None):
        job["steps"].append({"name": "after_script", "script": after, "timeout": 300, "when": "always"})
    return {**job, **changes}


def archive(*paths: str, **changes: Any) -> dict[str, Any]:
    """An artifacts entry for the paths."""
    return {
        "name": "artifacts",
        "untracked": False,
        "paths": list(paths),
        "when": "on_success",
        "artifact_type": "archive",
        "artifact_format": "zip",
        "expire_in": "1 day",
        **changes,
    }
