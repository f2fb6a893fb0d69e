"""What other pods ask of this one. Each call shows a service token of its own; a router passes none of them on.

Source: docs/pods.md, "Calls between pods".
"""

from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Path, Request
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter, ValidationError

from api.call_turns import counts_for
from api.deps import ServicesDep
from api.routes import RouteList
from api.runner.body import json_limit, limited_body
from application.bridges.elsewhere import hear
from application.bridges.for_other_pods import downstream_pipeline, state_for
from application.jobs.for_other_pods import needed_elsewhere
from application.jobs.sources_elsewhere import source_here
from application.pods.brought_visitors import hear_where_brought
from application.pods.other_pods import known_directory
from application.pods.pod_calls import PREFIX
from application.pods.visitor_states import hear_of_visitor
from application.subscriptions.elsewhere import hear_of_release
from application.subscriptions.for_other_pods import be_followed, be_left
from auth.pod_calls import PodCall, calling_pod
from domain.errors import Invalid
from domain.pipelines.cross_pod import DownstreamRequest, DownstreamResponse, PipelineState
from domain.pipelines.cross_pod_needs import Needed, NeedRequest
from domain.pipelines.cross_pod_subscriptions import FollowRequest, FollowResponse, Release
from domain.pods.directory import MAX_POD_NUMBER, Pod
from domain.pods.job_calls import Source, SourceRequest
from domain.pods.visits import VisitorState

T = TypeVar("T")

router = RouteList(prefix=PREFIX, include_in_schema=False)

_REQUEST: Final = TypeAdapter(DownstreamRequest)
_STATE: Final = TypeAdapter(PipelineState)
_NEED: Final = TypeAdapter(NeedRequest)
_FOLLOW: Final = TypeAdapter(FollowRequest)
_SOURCE: Final = TypeAdapter(SourceRequest)
_RELEASE: Final = TypeAdapter(Release)
_VISITOR: Final = TypeAdapter(VisitorState)


async def calling(request: Request, services: ServicesDep) -> tuple[Pod, bytes]:
    """The pod that calls, whose share the call takes, and what it sends. Raises `Unauthenticated`, `TooLarge`."""
    body = await limited_body(request, json_limit(services.settings.sizes), "the body")
    call = PodCall(request.method, request.url.path, body)
    directory = known_directory(services)
    pod = calling_pod(directory, services.settings.pod, request.headers.get("authorization", ""), call)
    await counts_for(request, f"pod {pod.number}")
    return pod, body


CallDep = Annotated[tuple[Pod, bytes], Depends(calling)]
PodNumber = Annotated[int, Path(ge=0, le=MAX_POD_NUMBER)]
RowId = Annotated[int, Path(ge=1, le=2**53)]


@router.put("/bridges/{bridge_id}/pipeline")
async def make_downstream_pipeline(call: CallDep, bridge_id: RowId, services: ServicesDep) -> JSONResponse:
    """The pipeline of a bridge of the calling pod: made now, or before; or why there is none."""
    pod, body = call
    response = await downstream_pipeline(services, pod, bridge_id, _read(_REQUEST, body))
    return _written(TypeAdapter(DownstreamResponse), response)


@router.get("/bridges/{bridge_id}/pipeline")
async def get_downstream_pipeline(call: CallDep, bridge_id: RowId, services: ServicesDep) -> JSONResponse:
    """How the pipeline is that a bridge of the calling pod has made; null if there is none."""
    return _written(TypeAdapter(PipelineState | None), await state_for(services, call[0], bridge_id))


@router.put("/bridges/{bridge_id}/downstream")
async def hear_of_downstream(call: CallDep, bridge_id: RowId, services: ServicesDep) -> JSONResponse:
    """The calling pod tells of the pipeline that it has made for a bridge of this one."""
    pod, body = call
    await hear(services, pod, bridge_id, _read(_STATE, body))
    return JSONResponse(None)


@router.post("/needs")
async def find_needed(call: CallDep, services: ServicesDep) -> JSONResponse:
    """What a job of the calling pod needs of a project of this one, with a token that opens the archive."""
    pod, body = call
    return _written(TypeAdapter(Needed), await needed_elsewhere(services, pod, _read(_NEED, body)))


@router.post("/sources")
async def find_source(call: CallDep, services: ServicesDep) -> JSONResponse:
    """A project or group of this pod whose jobs are to get into a project of the calling one."""
    pod, body = call
    return _written(TypeAdapter(Source), await source_here(services, pod, _read(_SOURCE, body)))


@router.put("/followers/{project_id}")
async def follow(call: CallDep, project_id: RowId, services: ServicesDep) -> JSONResponse:
    """A project of the calling pod follows one of this one."""
    pod, body = call
    response = await be_followed(services, pod, project_id, _read(_FOLLOW, body))
    return _written(TypeAdapter(FollowResponse), response)


@router.delete("/followers/{project_id}/{upstream_id}")
async def follow_no_more(call: CallDep, project_id: RowId, upstream_id: RowId, services: ServicesDep) -> JSONResponse:
    """A project of the calling pod does not follow one of this one any more."""
    await be_left(services, call[0], project_id, upstream_id)
    return JSONResponse(None)


@router.post("/followers/{project_id}/releases")
async def hear_of_upstream(call: CallDep, project_id: RowId, services: ServicesDep) -> JSONResponse:
    """A pipeline of a tag has succeeded in the calling pod, whose project one of this pod follows."""
    pod, body = call
    await hear_of_release(services, pod, project_id, _read(_RELEASE, body))
    return JSONResponse(None)


@router.put("/visitors/{home_id}")
async def hear_of_state(call: CallDep, home_id: RowId, services: ServicesDep) -> JSONResponse:
    """The calling pod says whether one of its people, who has visited this one, is blocked."""
    pod, body = call
    await hear_of_visitor(services, pod, home_id, _read(_VISITOR, body))
    return JSONResponse(None)


@router.put("/visitors/{user_id}/pods/{pod_number}")
async def hear_of_move(call: CallDep, user_id: RowId, pod_number: PodNumber, services: ServicesDep) -> JSONResponse:
    """What one of our people has in the calling pod, which they visit, has moved to another one."""
    await hear_where_brought(services, call[0], user_id, pod_number)
    return JSONResponse(None)


def _read(kind: TypeAdapter[T], body: bytes) -> T:
    try:
        return kind.validate_json(body)
    except ValidationError as error:
        fields = sorted({".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False)})
        raise Invalid(f"Bad request: {', '.join(fields) or 'the body'} cannot be read.") from None


def _written(kind: TypeAdapter[T], value: T) -> JSONResponse:
    document: Any = kind.dump_python(value, mode="json")
    return JSONResponse(document)
