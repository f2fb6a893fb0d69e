"""The HTTP interface of the directory: it parses, authorises, calls and represents (docs/pods.md, "The directory")."""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from domain.errors import (
    Forbidden,
    Invalid,
    NotFound,
    PerdureError,
    Refused,
    Taken,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from domain.pods.claims import Claim, ClaimState
from domain.pods.directory import MAX_POD_NUMBER
from domain.pods.directory_access import Caller
from domain.pods.directory_changes import document_of_changes
from domain.pods.directory_document import document_of_pod
from metrics.directory_metrics import DirectoryMetrics
from pods.directory import tables
from pods.directory.access import Access
from pods.directory.bodies import ClaimBody, ClaimId, ConfirmBody, IdsBody, MoveBody, PodBody, PodNumber
from pods.directory.body_limit import BodyLimit
from pods.directory.claim_rows import KeptClaim
from pods.directory.counting import Counting
from pods.directory.service import DirectoryService
from pods.directory.store import Store

MAX_PAGE: Final = 1_000
_STATUS: Final[tuple[tuple[type[PerdureError], HTTPStatus], ...]] = (
    (Unauthenticated, HTTPStatus.UNAUTHORIZED),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Refused, HTTPStatus.CONFLICT),
    (Invalid, HTTPStatus.BAD_REQUEST),
    (TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
)

log = logging.getLogger("perdure.directory")
router = APIRouter()


@dataclass(frozen=True, slots=True)
class Parts:
    """What the doors call."""

    service: DirectoryService
    access: Access
    store: Store
    metrics: DirectoryMetrics


def create_app(parts: Parts) -> Counting:
    """The application, which refuses large bodies unread and counts every request."""
    app = FastAPI(title="Directory of Perdure", openapi_url=None)
    app.state.parts = parts
    app.include_router(router)
    app.add_exception_handler(PerdureError, _error)
    app.add_exception_handler(RequestValidationError, _invalid)
    return Counting(BodyLimit(app), parts.metrics)


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


async def _caller(request: Request) -> Caller:
    return await _parts(request).access.caller(request.headers.get("authorization", ""))


def _service(request: Request) -> DirectoryService:
    return _parts(request).service


CallerDep = Annotated[Caller, Depends(_caller)]
ServiceDep = Annotated[DirectoryService, Depends(_service)]


@router.get("/-/health")
async def health(request: Request) -> JSONResponse:
    """Whether the database answers."""
    await _parts(request).store.read(tables.read_version)
    return JSONResponse({"message": "ok"})


@router.get("/v1/directory")
async def directory(
    caller: CallerDep,
    service: ServiceDep,
    after: Annotated[int, Query(ge=0)] = 0,
    epoch: Annotated[str, Query(max_length=64)] = "",
    wait: Annotated[float, Query(ge=0)] = 0,
) -> JSONResponse:
    """What has changed since version `after` of `epoch`, held for `wait` seconds until there is something."""
    return JSONResponse(document_of_changes(await service.changes(caller, epoch, after, wait)))


@router.put("/v1/pods/{number}")
async def put_pod(number: PodNumber, body: PodBody, caller: CallerDep, service: ServiceDep) -> JSONResponse:
    """Make a pod, or change what is said of it."""
    return JSONResponse(document_of_pod(await service.put_pod(caller, number, body.fields())))


@router.delete("/v1/pods/{number}")
async def delete_pod(number: PodNumber, caller: CallerDep, service: ServiceDep) -> Response:
    """Remove a pod that has no claims."""
    await service.remove_pod(caller, number)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.put("/v1/claims/{claim_id}")
async def put_claim(claim_id: ClaimId, body: ClaimBody, caller: CallerDep, service: ServiceDep) -> JSONResponse:
    """Take a name tentatively."""
    return JSONResponse(_claim(await service.claim(caller, str(claim_id), body.kind, body.name, body.pod)))


@router.post("/v1/claims/{claim_id}/confirm")
async def confirm_claim(claim_id: ClaimId, body: ConfirmBody, caller: CallerDep, service: ServiceDep) -> JSONResponse:
    """Take it for good."""
    return JSONResponse(_claim(await service.confirm(caller, str(claim_id), body.organisation_id)))


@router.delete("/v1/claims/{claim_id}")
async def delete_claim(claim_id: ClaimId, caller: CallerDep, service: ServiceDep) -> Response:
    """Give a name back."""
    await service.release(caller, str(claim_id))
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.get("/v1/claims")
async def list_claims(
    caller: CallerDep,
    service: ServiceDep,
    pod: Annotated[int, Query(ge=0, le=MAX_POD_NUMBER)],
    state: ClaimState | None = None,
    after: Annotated[str, Query(max_length=36)] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = MAX_PAGE,
) -> JSONResponse:
    """Claims of a pod in the order of their ids."""
    return JSONResponse([_kept(kept) for kept in await service.claims(caller, pod, state, after, limit)])


@router.get("/v1/names/{path}")
async def get_name(path: str, caller: CallerDep, service: ServiceDep) -> JSONResponse:
    """Where a path lives, and whether it is that of an organisation or of a person."""
    claim = await service.placed(caller, path)
    return JSONResponse({"name": claim.name, "pod": claim.pod_number, "organisation_id": claim.organisation_id})


@router.put("/v1/organisations/{path}")
async def move_organisation(path: str, body: MoveBody, caller: CallerDep, service: ServiceDep) -> JSONResponse:
    """Say that an organisation lives in another pod."""
    return JSONResponse(_claim(await service.move(caller, path, body.pod, body.expected)))


@router.put("/v1/organisations/{path}/ids")
async def put_ids(path: str, body: IdsBody, caller: CallerDep, service: ServiceDep) -> Response:
    """Say that ids are of what belongs to an organisation."""
    await service.own(caller, path, body.kind, body.ids)
    return Response(status_code=HTTPStatus.NO_CONTENT)


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "claim_id": claim.claim_id,
        "kind": claim.kind.value,
        "name": claim.name,
        "pod": claim.pod_number,
        "state": claim.state.value,
        "organisation_id": claim.organisation_id,
    }


def _kept(kept: KeptClaim) -> dict[str, Any]:
    return {**_claim(kept.claim), "created_at": datetime.fromtimestamp(kept.created_at, UTC).isoformat()}


async def _error(_: Request, error: Exception) -> JSONResponse:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
    document: dict[str, Any] = {"message": str(error)}
    if isinstance(error, Taken):
        document["own"] = error.own
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, Unavailable) else {}
    return JSONResponse(document, status, headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = [f"{'.'.join(str(part) for part in fault['loc'][1:])}: {fault['msg']}" for fault in error.errors()]
    return JSONResponse({"message": "; ".join(faults)}, HTTPStatus.BAD_REQUEST)
