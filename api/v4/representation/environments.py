"""Environments and deployments as GitLab's JSON."""

from typing import Any

from api.v4.representation.people import person
from domain.moments import moment
from models.repositories.environments.deployment_listings import STATUSES


def environment(row: Any) -> dict[str, Any]:
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


def deployment(row: Any, place: Any, user: Any | None, deployable: dict[str, Any] | None, url: str) -> dict[str, Any]:
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
        "status": STATUSES[row.status],
        "user": None if user is None else person(user, url),
        "environment": environment(place),
        "deployable": deployable,
    }
