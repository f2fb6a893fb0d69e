"""Parts that bodies of several kinds have in common: projects, people, runners, commits."""

from collections.abc import Mapping
from typing import Any, Final

from domain.hooks.requests import REDACTED
from domain.projects.ssh_address import ssh_address
from models.repositories.hooks.hook_facts import Around, NamedProjectRow
from models.rows.accounts import UserRow
from models.rows.pipelines import PipelineRow
from models.rows.projects import ProjectRow
from models.rows.runners import RunnerRow

_VISIBILITY: Final = {"private": 0, "internal": 10, "public": 20}


def project(row: NamedProjectRow, url: str) -> dict[str, Any]:
    """A project; with the older names of its addresses, which GitLab sends with most kinds of events."""
    page, ssh = f"{url}/{row.full_path}", ssh_address(url, row.full_path)
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "web_url": page,
        "avatar_url": None,
        "git_ssh_url": ssh,
        "git_http_url": f"{page}.git",
        "namespace": row.namespace,
        "visibility_level": _VISIBILITY[row.visibility],
        "path_with_namespace": row.full_path,
        "default_branch": row.default_branch,
        "ci_config_path": row.config_path or None,
        "homepage": page,
        "url": f"{page}.git",
        "ssh_url": ssh,
        "http_url": f"{page}.git",
    }


def repository(row: ProjectRow, url: str) -> dict[str, Any]:
    """A project as GitLab once called it."""
    page = f"{url}/{row.full_path}"
    return {
        "name": row.name,
        "url": f"{page}.git",
        "description": row.description,
        "homepage": page,
        "git_http_url": f"{page}.git",
        "git_ssh_url": ssh_address(url, row.full_path),
        "visibility_level": _VISIBILITY[row.visibility],
    }


def short_repository(row: ProjectRow, url: str) -> dict[str, Any]:
    """A project as hooks of merge requests and notes name it once more: the first keys of `repository`."""
    whole = repository(row, url)
    return {name: whole[name] for name in ("name", "url", "description", "homepage")}


def person(row: UserRow | None) -> dict[str, Any] | None:
    """Somebody; addresses of mail are not for everybody."""
    if row is None:
        return None
    return {"id": row.id, "name": row.name, "username": row.username, "avatar_url": None, "email": REDACTED}


def runner(row: RunnerRow | None) -> dict[str, Any] | None:
    """The runner that holds or held a job."""
    if row is None:
        return None
    return {
        "id": row.id,
        "description": row.description,
        "runner_type": row.runner_type,
        "active": not row.paused,
        "is_shared": row.runner_type == "instance_type",
        "tags": list(row.tags),
    }


def commit(row: PipelineRow, page: str) -> dict[str, Any]:
    """The commit of a pipeline."""
    facts = row.commit
    author = {"name": facts.get("author_name", ""), "email": facts.get("author_email", "")}
    words = {"message": facts.get("message", ""), "title": facts.get("title", "")}
    return placed_commit({"id": row.sha, **words, "timestamp": facts.get("timestamp"), "author": author}, page)


def placed_commit(commit: Mapping[str, Any], page: str) -> dict[str, Any]:
    """A commit as it was noted (`git.reading.commit_facts`), with its address; `page` is its project's."""
    return {**commit, "url": f"{page}/-/commit/{commit['id']}"}


def source_pipeline(around: Around, url: str) -> dict[str, Any]:
    """What triggered the pipeline, where another pipeline did: nothing or one key."""
    if around.upstream is None or around.pipeline is None:
        return {}
    path = around.upstream.full_path
    return {
        "source_pipeline": {
            "project": {"id": around.upstream.id, "web_url": f"{url}/{path}", "path_with_namespace": path},
            "job_id": around.pipeline.bridge_id,
            "pipeline_id": around.pipeline.upstream_id,
        }
    }
