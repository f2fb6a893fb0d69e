"""The runner protocol in the OpenAPI document.

Its calls are no FastAPI routes, so what they take and answer is said here, one row for each row of
`api.runner.router`. Every field is optional and unknown ones are passed over, because runners of many versions call.

Source: docs/reference/runner-protocol.md, "Registration", "Job request", "Job updates", "Log upload", "Artifacts and
cache".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from api.runner.artifact_types import FORMATS

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_FLAG: Final[Schema] = {"type": "boolean"}
_NUMBER: Final[Schema] = {"type": "integer"}
_ANY: Final[Schema] = {"type": "object"}
_INFO: Final[Schema] = {
    "type": "object",
    "description": "The process that calls: name, version, platform, executor, and what it can do.",
    "properties": {"name": _TEXT, "version": _TEXT, "features": {"type": "object", "additionalProperties": _FLAG}},
}
_RUNNER: Final = {"token": _TEXT, "system_id": _TEXT, "info": _INFO}
_WISHES: Final = {
    "token": {"type": "string", "description": "A registration token."},
    "info": _INFO,
    "description": _TEXT,
    "maintenance_note": _TEXT,
    "tag_list": {
        "oneOf": [{"type": "string", "description": "With commas between."}, {"type": "array", "items": _TEXT}]
    },
    "run_untagged": _FLAG,
    "locked": _FLAG,
    "paused": _FLAG,
    "active": {"type": "boolean", "description": "Older runners say it instead of `paused`.", "deprecated": True},
    "access_level": {"type": "string", "enum": ["not_protected", "ref_protected"]},
    "maximum_timeout": {"type": "integer", "minimum": 600, "description": "Seconds."},
}
_UPDATE: Final = {
    "token": _TEXT,
    "state": {"type": "string", "enum": ["pending", "running", "success", "failed"]},
    "failure_reason": _TEXT,
    "exit_code": _NUMBER,
    "checksum": {"type": "string", "description": "Older runners say it here.", "deprecated": True},
    "output": {
        "type": "object",
        "properties": {"checksum": {"type": "string", "pattern": "^crc32:[0-9a-f]{8}$"}, "bytesize": _NUMBER},
    },
    "info": _INFO,
}
_REGISTERED: Final = {
    "id": _NUMBER,
    "token": _TEXT,
    "token_expires_at": {"type": ["string", "null"], "format": "date-time"},
}
_ERRORS: Final = {
    400: "The call is wrong; `message` says what.",
    403: "No such token, or it does not open this; `Job-Status` tells of a job that has ended.",
    404: "There is no such thing.",
    409: "It is too late for this; `message` says why.",
    410: "This installation takes no registration tokens.",
    412: "The log is not the one whose checksum was told: send all of it again, from byte 0.",
    413: "More bytes than are taken here.",
    416: "What was asked for does not begin where it may; `Range` has the size of a log.",
    501: "There is no job router: ask by `POST /jobs/request`.",
    503: "Come back in `Retry-After` seconds.",
}
_ALWAYS: Final = (400, 403, 413, 503)


@dataclass(frozen=True, slots=True)
class Operation:
    """What one call takes, and what it answers: `answers` by status, None for an answer without a body."""

    summary: str
    answers: Mapping[int, Schema | None]
    errors: tuple[int, ...] = ()
    body: Mapping[str, Schema] | None = None
    content: Mapping[str, Schema] | None = None
    query: Mapping[str, Schema] | None = None
    headers: Mapping[str, Schema] | None = None
    security: str = "RunnerToken"


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(properties)}


_KIND: Final = {
    "artifact_type": {"type": "string", "enum": sorted(FORMATS)},
    "artifact_format": {"type": "string", "enum": sorted({one for formats in FORMATS.values() for one in formats})},
}
_FILE: Final = _object({"file": {"type": "string", "format": "binary"}})

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("POST", "/jobs/request"): Operation(
        "Ask for a job, and wait for one",
        {201: _ANY, 204: None},
        errors=(409,),
        body={**_RUNNER, "last_update": _TEXT, "session": _ANY},
    ),
    ("PUT", "/jobs/{job_id}"): Operation(
        "Take a job up, keep it, or say how it ended",
        {200: _NUMBER},
        errors=(409, 412),
        body=_UPDATE,
        security="JobToken",
    ),
    ("PATCH", "/jobs/{job_id}/trace"): Operation(
        "Append to the log of a job",
        {202: None},
        errors=(416,),
        content={"text/plain": _TEXT},
        query={"debug_trace": _FLAG},
        headers={"Content-Range": {"type": "string", "pattern": "^[0-9]{1,15}-[0-9]{1,15}$"}},
        security="JobToken",
    ),
    ("POST", "/jobs/{job_id}/artifacts/authorize"): Operation(
        "Ask whether an upload would be taken",
        {200: _object({"MaximumSize": _NUMBER})},
        query={**_KIND, "filesize": _NUMBER},
        security="JobToken",
    ),
    ("POST", "/jobs/{job_id}/artifacts"): Operation(
        "Hand in a file of a job",
        {201: _object({"id": _NUMBER, "file_type": _TEXT, "size": _NUMBER})},
        content={"multipart/form-data": _FILE},
        query={**_KIND, "expire_in": _TEXT},
        security="JobToken",
    ),
    ("GET", "/jobs/{job_id}/artifacts"): Operation(
        "Read the archive of a job on which the caller's job depends",
        {200: None, 206: None, 302: None},
        errors=(404, 416),
        query={"direct_download": _FLAG},
        headers={"Range": {"type": "string", "pattern": "^bytes=[0-9]{1,15}-[0-9]{0,15}$"}},
        security="JobToken",
    ),
    ("POST", "/runners/verify"): Operation("Is this token good?", {200: _object(_REGISTERED)}, body=_RUNNER),
    ("POST", "/runners/reset_authentication_token"): Operation(
        "Get a new token; the old one is good until the new one is used",
        {201: _object({name: _REGISTERED[name] for name in ("token", "token_expires_at")})},
        body={"token": _TEXT},
    ),
    ("GET", "/runners/router/discovery"): Operation("Where is the job router?", {}, errors=(501,)),
    ("DELETE", "/runners/managers"): Operation(
        "Forget one process of a runner",
        {204: None},
        errors=(404,),
        body={"token": _TEXT, "system_id": _TEXT},
    ),
    ("POST", "/runners"): Operation(
        "Register a runner", {201: _object(_REGISTERED)}, errors=(410,), body=_WISHES, security=""
    ),
    ("DELETE", "/runners"): Operation("Unregister a runner", {204: None}, body={"token": _TEXT}),
}

SECURITY_SCHEMES: Final = {
    "RunnerToken": {"type": "apiKey", "in": "header", "name": "RUNNER-TOKEN"},
    "JobToken": {"type": "apiKey", "in": "header", "name": "JOB-TOKEN"},
}


def merged(document: Schema) -> Schema:
    """The document with the runner protocol in it; `document` itself is changed."""
    paths = document.setdefault("paths", {})
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(f"/api/v4{path}", {})[method.lower()] = _described(path, operation)
    document.setdefault("components", {}).setdefault("securitySchemes", {}).update(SECURITY_SCHEMES)
    return document


def _described(path: str, operation: Operation) -> Schema:
    described: Schema = {
        "tags": ["runner protocol"],
        "summary": operation.summary,
        "parameters": list(_parameters(path, operation)),
        "responses": dict(_responses(path, operation)),
    }
    content = {"application/json": _object(operation.body)} if operation.body else operation.content
    if content:
        described["requestBody"] = {"content": {kind: {"schema": schema} for kind, schema in content.items()}}
    if operation.security:
        described["security"] = [{operation.security: []}]
    return described


def _parameters(path: str, operation: Operation) -> Iterable[Schema]:
    if "{job_id}" in path:
        yield {"name": "job_id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}
    for place, parameters in (("query", operation.query), ("header", operation.headers)):
        for name, schema in (parameters or {}).items():
            yield {"name": name, "in": place, "schema": schema}


def _responses(path: str, operation: Operation) -> Iterable[tuple[str, Schema]]:
    for status, schema in operation.answers.items():
        answer: Schema = {"description": operation.summary}
        if schema is not None:
            answer["content"] = {"application/json": {"schema": schema}}
        yield str(status), answer
    unknown = (404,) if "{job_id}" in path else ()
    for status in sorted({*_ALWAYS, *operation.errors, *unknown}):
        message = {"application/json": {"schema": _object({"message": {}})}}
        yield str(status), {"description": _ERRORS[status], "content": message}
