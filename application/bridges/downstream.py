"""Which pipeline a bridge wants: of which project and commit, for whom, with which configuration and variables.

Source: docs/reference/pipelines.md, "Downstream pipelines", "Pipeline sources". Triggered pipelines ignore `[skip ci]`.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import orjson

from application.bridges.hierarchy import hierarchy_of, root_of
from application.bridges.scope import document, expanded_inputs, scope_of
from application.bridges.targets import Denied, compiled, denied, pipeline_of_project, visible_project
from application.pipelines.prepared import Prepared
from application.pipelines.sealed_values import with_opened_variables
from application.pods.cross_pod_people import account_at_home
from application.pods.other_pods import other_pod
from application.services import Services
from domain.errors import PerdureError, StorageFull, Unavailable
from domain.pipelines.bridges import (
    CHILD,
    CREATION_FAILED,
    INVALID_TRIGGER,
    NO_PERMISSION,
    NO_PROJECT,
    Ancestor,
    Scope,
    child_configuration,
    forwarded,
    refusal,
)
from domain.pipelines.cross_pod import DownstreamRequest, UpstreamPipeline
from models.repositories.pipelines import bridges
from models.repositories.pipelines.bridges import Bridge
from models.repositories.pipelines.pipelines import PipelineRequest


@dataclass(frozen=True, slots=True)
class Existing:
    """A pipeline that is only followed."""

    pipeline_id: int


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A pipeline that another pod is asked for, by its number."""

    pod: int
    request: DownstreamRequest


Wish: TypeAlias = Prepared | Existing | Denied | Elsewhere


async def wish_of(services: Services, bridge: Bridge) -> Wish:
    """What a bridge asks for. Raises `Unavailable` and `StorageFull`: try again later."""
    bridge = with_opened_variables(services.sealer, bridge)
    try:
        trigger = bridge.job.plan.get("trigger")
        if trigger is None:
            return await _mirrored(services, bridge)
        return await _triggered(services, bridge, trigger)
    except (Unavailable, StorageFull):
        raise
    except PerdureError as error:
        return denied(CREATION_FAILED, str(error))


async def _triggered(services: Services, bridge: Bridge, trigger: dict[str, Any]) -> Wish:
    is_child = bool(trigger["include"])
    async with services.database.read() as connection:
        above, pipelines = await hierarchy_of(services, connection, bridge.pipeline)
    reason = refusal(child=is_child, depth=bridge.pipeline.depth, pipelines=pipelines, above=above)
    if reason:
        return denied(reason)
    scope = scope_of(services, bridge)
    inputs = expanded_inputs(scope, trigger["inputs"])
    if is_child:
        config = orjson.dumps(child_configuration(trigger["include"], inputs)).decode()
        return await compiled(services, _child(bridge, trigger, scope), config)
    path, branch = scope.expanded(trigger["project"], trigger["branch"])
    pod = other_pod(services, path)
    if pod is not None:
        if bridge.user.bot:
            return denied(NO_PERMISSION, f"{path} is in another pod, and bots act in their own pod only.")
        request = _request_of(bridge, path, branch, _handed_down(trigger, scope), inputs, (above, pipelines))
        return Elsewhere(pod, request)
    found = await pipeline_of_project(services, bridge.user, path, branch, bridge.project.id)
    if isinstance(found, Denied):
        return found
    return await compiled(services, replace(_with_upstream(found, bridge, trigger, scope), inputs=inputs))


def _request_of(
    bridge: Bridge,
    path: str,
    branch: str,
    variables: tuple[dict[str, Any], ...],
    inputs: dict[str, Any],
    hierarchy: tuple[tuple[Ancestor, ...], int],
) -> DownstreamRequest:
    project = bridge.project
    upstream = UpstreamPipeline(bridge.pipeline.id, project.id, project.full_path, project.visibility)
    who = (bridge.user.username, account_at_home(bridge.user))
    return DownstreamRequest(*who, upstream, path, branch, variables, inputs, *hierarchy)


def _child(bridge: Bridge, trigger: dict[str, Any], scope: Scope) -> PipelineRequest:
    """The same project, ref and commit, one level deeper."""
    pipeline = bridge.pipeline
    request = PipelineRequest(
        project_id=pipeline.project_id,
        user_id=bridge.user.id,
        ref=pipeline.ref,
        sha=pipeline.sha,
        source=CHILD,
        tag=pipeline.tag,
        before_sha=pipeline.before_sha,
        depth=pipeline.depth + 1,
        ref_protected=pipeline.ref_protected,
        merge_request_id=pipeline.merge_request_id,
        source_sha=pipeline.source_sha,
        merge_request=pipeline.merge_request,
    )
    return _with_upstream(request, bridge, trigger, scope)


def _with_upstream(request: PipelineRequest, bridge: Bridge, trigger: dict[str, Any], scope: Scope) -> PipelineRequest:
    return replace(
        request,
        variables=_handed_down(trigger, scope),
        bridge_id=bridge.job.id,
        upstream_id=bridge.pipeline.id,
        upstream_project_id=bridge.project.id,
        root_id=root_of(bridge.pipeline),
    )


def _handed_down(trigger: dict[str, Any], scope: Scope) -> tuple[dict[str, Any], ...]:
    handed = forwarded(scope, yaml=trigger["forward_yaml_variables"], pipeline=trigger["forward_pipeline_variables"])
    return tuple(document(variable) for variable in handed)


async def _mirrored(services: Services, bridge: Bridge) -> Existing | Denied:
    """`needs: {pipeline: group/project}` alone: the latest pipeline of that project's default branch."""
    needs = (need["pipeline"] for need in bridge.job.plan["foreign_needs"] if need["pipeline"] and not need["job"])
    (path,) = scope_of(services, bridge).expanded(next(needs))
    project = await visible_project(services, bridge.user, path)
    if project is None:
        return denied(NO_PROJECT, path)
    async with services.database.read() as connection:
        newest = await bridges.newest_of(connection, project.row.id, project.row.default_branch)
    if newest is None:
        branch = project.row.default_branch
        return Denied(INVALID_TRIGGER, f"{path} has no pipeline on {branch} that this job could follow.")
    return Existing(newest)
