"""Environments and deployments as GitLab's JSON."""

from typing import Any

from typing_extensions import TypedDict

from api.v4.representation.jobs import JobResponse
from api.v4.representation.people import Person, PersonResponse, person
from domain.moments import moment
from domain.pipelines.status import Status
from models.repositories.environments.deployment_listings import STATUSES
from models.rows.environments import DeploymentRow, EnvironmentRow


class EnvironmentResponse(TypedDict):
    """An environment as an item of a list and inside a deployment."""

    id: int
    name: str
    slug: str
    description: str | None
    external_url: str | None
    state: str
    tier: str
    created_at: str
    updated_at: str
    auto_stop_at: str | None
    auto_stop_setting: str
    cluster_agent: dict[str, Any] | None
    kubernetes_agent: str | None
    kubernetes_namespace: str | None
    flux_resource_path: str | None


class DeploymentResponse(TypedDict):
    """A deployment; one that somebody reports has no job (`deployable`)."""

    id: int
    iid: int
    ref: str
    sha: str
    created_at: str
    updated_at: str | None
    status: str
    user: PersonResponse | None
    environment: EnvironmentResponse
    deployable: JobResponse | None


class EnvironmentDetailsResponse(EnvironmentResponse):
    """An environment with its last successful deployment."""

    last_deployment: DeploymentResponse | None


def environment(row: EnvironmentRow) -> EnvironmentResponse:
    """An environment as an item of a list and inside a deployment.

    `kubernetes_agent` is our own: what the configuration says, since no agent is known here.
    """
    cluster = {**row.kubernetes, **row.kubernetes.get("dashboard", {})}
    return {
        "id": row.id,
        "name": row.name,
        "slug": row.slug,
        "description": None,
        "external_url": row.external_url or None,
        "state": row.state,
        "tier": row.tier,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "auto_stop_at": moment(row.auto_stop_at),
        "auto_stop_setting": "always",
        "cluster_agent": None,
        "kubernetes_agent": cluster.get("agent") or None,
        "kubernetes_namespace": cluster.get("namespace") or None,
        "flux_resource_path": cluster.get("flux_resource_path") or None,
    }


def deployment(
    row: DeploymentRow, place: EnvironmentRow, user: Person | None, deployable: JobResponse | None, url: str
) -> DeploymentResponse:
    """A deployment (a row of `deployment_listings`) to environment `place`, by job `deployable`.

    There is none of one that somebody reports.
    """
    return {
        "id": row.id,
        "iid": row.iid,
        "ref": row.ref,
        "sha": row.sha,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "status": STATUSES[Status(row.status)],
        "user": None if user is None else person(user, url),
        "environment": environment(place),
        "deployable": deployable,
    }
