"""Statuses of pipelines as other forges know them, and the call that reports one.

Sources: the APIs "Commit statuses" of GitHub (`POST /repos/{owner}/{repo}/statuses/{sha}`), Gitea and Forgejo (the same
path below `/api/v1`) and GitLab (`POST /projects/:id/statuses/:sha`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote, urlsplit

from domain.errors import FieldsInvalid
from domain.pipelines.status import Status


class Forge(StrEnum):
    """What kind of server a commit status is reported to."""

    GITHUB = "github"
    GITEA = "gitea"
    FORGEJO = "forgejo"
    GITLAB = "gitlab"


_WAITS: Final = (
    Status.CREATED,
    Status.WAITING_FOR_RESOURCE,
    Status.PREPARING,
    Status.PENDING,
    Status.MANUAL,
    Status.SCHEDULED,
)
_GOES: Final = (Status.RUNNING, Status.CANCELING)
_GITHUB: Final[Mapping[Status, str]] = {
    **dict.fromkeys((*_WAITS, *_GOES), "pending"),
    Status.SUCCESS: "success",
    Status.SKIPPED: "success",
    Status.FAILED: "failure",
    Status.CANCELED: "error",
}
STATES: Final[Mapping[Forge, Mapping[Status, str]]] = {
    Forge.GITHUB: _GITHUB,
    Forge.GITEA: _GITHUB,
    Forge.FORGEJO: _GITHUB,
    Forge.GITLAB: {
        **dict.fromkeys(_WAITS, "pending"),
        **dict.fromkeys(_GOES, "running"),
        Status.SUCCESS: "success",
        Status.SKIPPED: "skipped",
        Status.FAILED: "failed",
        Status.CANCELED: "canceled",
    },
}
"""What each forge calls the status of a pipeline."""

_WORDS: Final[Mapping[Status, str]] = {
    Status.CREATED: "is created",
    Status.WAITING_FOR_RESOURCE: "waits for a resource",
    Status.PREPARING: "is being prepared",
    Status.PENDING: "waits for a runner",
    Status.RUNNING: "runs",
    Status.CANCELING: "is being canceled",
    Status.SUCCESS: "passed",
    Status.FAILED: "failed",
    Status.CANCELED: "was canceled",
    Status.SKIPPED: "was skipped",
    Status.MANUAL: "waits for a person",
    Status.SCHEDULED: "waits for its time",
}
MAX_DESCRIPTION: Final = 140
"""Characters; GitHub's limit is the lowest."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the statuses of a project are reported to. `api_url` has no trailing slash; `repository` is its path."""

    forge: Forge
    api_url: str
    repository: str
    token: str
    context: str


@dataclass(frozen=True, slots=True)
class Report:
    """The status of a pipeline of a commit. `url` leads to its page."""

    pipeline_id: int
    sha: str
    ref: str
    status: Status
    url: str


@dataclass(frozen=True, slots=True)
class Call:
    """A POST request."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def state_of(forge: Forge, status: Status) -> str:
    """What a forge calls a status."""
    return STATES[forge][status]


def call_of(target: Target, report: Report) -> Call:
    """The call that tells a forge of a status."""
    state = state_of(target.forge, report.status)
    description = f"Pipeline {report.pipeline_id} {_WORDS[report.status]}"[:MAX_DESCRIPTION]
    document = {"state": state, "target_url": report.url, "description": description, "context": target.context}
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "perdure"}
    if target.forge is Forge.GITLAB:
        project = quote(target.repository, safe="")
        url = f"{target.api_url}/projects/{project}/statuses/{report.sha}"
        headers["PRIVATE-TOKEN"] = target.token
        document["ref"] = report.ref
    else:
        url = f"{target.api_url}/repos/{quote(target.repository)}/statuses/{report.sha}"
        scheme = "Bearer" if target.forge is Forge.GITHUB else "token"
        headers["Authorization"] = f"{scheme} {target.token}"
    if target.forge is Forge.GITHUB:
        headers |= {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    return Call(url, headers, json.dumps(document).encode())


def is_known_already(forge: Forge, status: int | None, body: str) -> bool:
    """Whether a refusal only says that the forge has this state: GitLab refuses to go from a state to the same one."""
    return forge is Forge.GITLAB and status == 400 and "Cannot transition status" in body


_GITHUB_HOSTS: Final = frozenset({"github.com", "www.github.com"})


def api_of(forge: Forge, repository_url: str) -> tuple[str, str]:
    """The address of the API and the path of the repository, from its page. Raises `Invalid`."""
    parts = urlsplit(repository_url.strip())
    path = parts.path.strip("/").removesuffix(".git")
    is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.query or parts.fragment)
    if not is_address or parts.username or path.count("/") < 1 or (forge is not Forge.GITLAB and path.count("/") > 1):
        raise FieldsInvalid(
            repository_url="is invalid: give the address of the repository's page, without a token in it."
        )
    if forge is Forge.GITHUB:
        own = f"{parts.scheme}://{parts.netloc}/api/v3"
        return ("https://api.github.com" if parts.hostname in _GITHUB_HOSTS else own), path
    version = "v4" if forge is Forge.GITLAB else "v1"
    return f"{parts.scheme}://{parts.netloc}/api/{version}", path
