"""Which pipeline a bridge wants: of which project and commit, for whom, with which configuration and variables.

Source: docs/reference/pipelines.md, "Downstream pipelines", "Pipeline sources". Triggered pipelines ignore `[skip ci]`.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import orjson

from application.access import ProjectAccess, access_to, caller_from
from application.bridges.scope import document, expanded_inputs, scope_of
from application.pipelines.ci_variables import opened
from application.pipelines.prepared import Prepared, prepared_by_itself
from application.pipelines.refs import find_ref
from application.services import Services
from domain.errors import (
    Forbidden,
    NotFound,
    PerdureError,
    StorageFull,
    Unauthenticated,
    Unavailable,
)
from domain.pipelines.bridges import (
    CHILD,
    CREATION_FAILED,
    DOWNSTREAM,
    INVALID_TRIGGER,
    NO_PERMISSION,
    NO_PROJECT,
    TEXT_OF,
    Scope,
    child_configuration,
    forwarded,
    refusal,
)
from models.repositories.pipelines import bridges
from models.repositories.pipelines.bridges import Bridge
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects.project_paths import written_path


@dataclass(frozen=True, slots=True)
class Existing:
    """A pipeline that is only followed."""

    pipeline_id: int


@dataclass(frozen=True, slots=True)
class Denied:
    """No pipeline: the failure reason, what people read, and the request of a pipeline that shall show the faults."""

    reason: str
    text: str
    request: PipelineRequest | None = None


Wish: TypeAlias = Prepared | Existing | Denied


async def wish_of(services: Services, bridge: Bridge) -> Wish:
    """What a bridge asks for. Raises `Unavailable` and `StorageFull`: try again later."""
    bridge = replace(bridge, ci_variables=opened(services.sealer, bridge.sealed), sealed=())
    try:
        trigger = bridge.job.plan.get("trigger")
        if trigger is None:
            return await _mirrored(services, bridge)
        return await _triggered(services, bridge, trigger)
    except (Unavailable, StorageFull):
        raise
    except PerdureError as error:
        return _denied(CREATION_FAILED, str(error))


async def _triggered(services: Services, bridge: Bridge, trigger: dict[str, Any]) -> Wish:
    is_child = bool(trigger["include"])
    async with services.database.read() as connection:
        above = await bridges.above(connection, bridge.pipeline.id)
        pipelines = await bridges.size_of_hierarchy(connection, _root(bridge))
    reason = refusal(child=is_child, depth=bridge.pipeline.depth, pipelines=pipelines, above=above)
    if reason:
        return _denied(reason)
    scope = scope_of(services, bridge)
    inputs = expanded_inputs(scope, trigger["inputs"])
    if is_child:
        config = orjson.dumps(child_configuration(trigger["include"], inputs)).decode()
        return await _compiled(services, _child(bridge, trigger, scope), config)
    request = await _of_project(services, bridge, trigger, scope)
    if isinstance(request, Denied):
        return request
    return await _compiled(services, replace(request, inputs=inputs), "")


async def _compiled(services: Services, request: PipelineRequest, child_config: str) -> Prepared | Denied:
    try:
        repository = services.repositories.get(request.project_id)
    except NotFound:
        return _denied(CREATION_FAILED, "The downstream project has no commits.")
    made = await prepared_by_itself(services, request, repository, child_config)
    return made if made.error is None else Denied(CREATION_FAILED, _text(CREATION_FAILED, made.fault), made.shown)


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


async def _of_project(
    services: Services, bridge: Bridge, trigger: dict[str, Any], scope: Scope
) -> PipelineRequest | Denied:
    """A pipeline of another project: of the branch that is named, else of its default branch."""
    path, branch = scope.expanded(trigger["project"], trigger["branch"])
    project = await _project(services, bridge, path)
    if project is None:
        return _denied(NO_PROJECT, path)
    if project.row.id == bridge.project.id:
        return _denied(INVALID_TRIGGER, path)
    ref, tag, sha = await find_ref(services.repositories.get(project.row.id), branch or project.row.default_branch)
    try:
        project.require_run(ref, tag=tag)
    except (Forbidden, Unauthenticated):
        return _denied(NO_PERMISSION, path)
    request = PipelineRequest(
        project_id=project.row.id, user_id=bridge.user.id, ref=ref, sha=sha, source=DOWNSTREAM, tag=tag
    )
    return _with_upstream(request, bridge, trigger, scope)


def _with_upstream(request: PipelineRequest, bridge: Bridge, trigger: dict[str, Any], scope: Scope) -> PipelineRequest:
    handed = forwarded(scope, yaml=trigger["forward_yaml_variables"], pipeline=trigger["forward_pipeline_variables"])
    return replace(
        request,
        variables=tuple(document(variable) for variable in handed),
        bridge_id=bridge.job.id,
        upstream_id=bridge.pipeline.id,
        upstream_project_id=bridge.project.id,
        root_id=_root(bridge),
    )


async def _mirrored(services: Services, bridge: Bridge) -> Existing | Denied:
    """`needs: {pipeline: group/project}` alone: the latest pipeline of that project's default branch."""
    needs = (need["pipeline"] for need in bridge.job.plan["foreign_needs"] if need["pipeline"] and not need["job"])
    (path,) = scope_of(services, bridge).expanded(next(needs))
    project = await _project(services, bridge, path)
    if project is None:
        return _denied(NO_PROJECT, path)
    async with services.database.read() as connection:
        newest = await bridges.newest_of(connection, project.row.id, project.row.default_branch)
    if newest is None:
        branch = project.row.default_branch
        return Denied(INVALID_TRIGGER, f"{path} has no pipeline on {branch} that this job could follow.")
    return Existing(newest)


async def _project(services: Services, bridge: Bridge, path: str) -> ProjectAccess | None:
    """A project that whoever runs the bridge may see, by its full path."""
    async with services.database.read() as connection:
        written = await written_path(connection, path)
    if written is None:
        return None
    try:
        return await access_to(services, caller_from(bridge.user), written)
    except (NotFound, Forbidden):
        return None


def _root(bridge: Bridge) -> int:
    return bridge.pipeline.root_id or bridge.pipeline.id


def _denied(reason: str, detail: str = "") -> Denied:
    return Denied(reason, _text(reason, detail))


def _text(reason: str, detail: str) -> str:
    return f"{TEXT_OF[reason]}: {detail}" if detail else f"{TEXT_OF[reason]}."
