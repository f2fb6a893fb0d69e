"""The containers of a job as its runner gets them. The runner expands names.

Source: docs/reference/runner-protocol.md, "Job document".
"""

from collections.abc import Iterable, Mapping
from typing import Any

from application.jobs.variables import variable_document
from domain.variables.job_variables import JobVariable


def image(document: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The container that the script runs in; None leaves the choice to the runner."""
    return _container(document) if document else None


def services(documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The containers beside the script, each with variables of its own."""
    return [
        {
            **_container(document["image"]),
            "alias": document.get("alias", ""),
            "command": list(document.get("command", ())),
            "variables": [
                variable_document(JobVariable(key, item["value"], raw=item["raw"]))
                for key, item in document.get("variables", {}).items()
            ],
        }
        for document in documents
    ]


def _container(document: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: dict(document[name]) for name in ("docker", "kubernetes") if document.get(name)}
    return {
        "name": document["name"],
        "alias": "",
        "entrypoint": list(document.get("entrypoint", ())),
        "command": [],
        "ports": [],
        "pull_policy": list(document.get("pull_policy", ())),
        "executor_opts": options,
    }
