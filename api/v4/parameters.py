"""Parameters of a call as GitLab takes them: from the query, a form or a JSON document, all alike."""

import re
from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qsl

import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError, model_validator
from starlette.formparsers import MultiPartException, MultiPartParser

from api.deps import ServicesDep
from domain.errors import Invalid, TooLarge
from domain.size_limits import of_installation

_MANY: Final = 1000
"""Fields of one form."""
_ENTRY: Final = re.compile(r"(?P<head>[^\[\]]+)\[(?P<key>[^\[\]]+)\]")
_CREDENTIALS: Final = frozenset({"private_token", "access_token"})

Model = TypeVar("Model", bound=BaseModel)


class Optionals(BaseModel):
    """Parameters of which none has a meaning as null: one that is null counts as not given, as in GitLab."""

    @model_validator(mode="before")
    @classmethod
    def _leave_nulls_out(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {name: value for name, value in values.items() if value is not None}


class Given(Generic[Model]):
    """A dependency that reads the parameters of a call into `model`; the OpenAPI document tells of it."""

    def __init__(self, model: type[Model], limit: str) -> None:
        """`limit` is the field of `SizeLimits` that says how large the body may be."""
        self.model = model
        self._limit = limit

    async def __call__(self, request: Request, services: ServicesDep) -> Model:
        """The parameters. Raises `Invalid` with every fault."""
        most = getattr(services.settings.sizes, self._limit)
        return validated(self.model, await parameters(request, most, self._limit))


def given(model: type[Model], limit: str = "json_bytes") -> Given[Model]:
    """A dependency that reads the parameters of a call into `model`. Raises `Invalid` with every fault.

    `limit` is the field of `SizeLimits` that says how large the body may be.
    """
    return Given(model, limit)


def validated(model: type[Model], values: dict[str, Any]) -> Model:
    """The model that these values make. Raises `Invalid` with every fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise Invalid(", ".join(_fault(fault) for fault in error.errors())) from error


def _fault(fault: Any) -> str:
    """What is wrong, in GitLab's words where it has any."""
    name = ".".join(str(part) for part in fault["loc"]) or "request"
    if fault["type"] == "missing":
        return f"{name} is missing"
    if fault["type"] in {"literal_error", "enum"}:
        return f"{name} does not have a valid value"
    return f"{name} is invalid: {fault['msg'].removeprefix('Value error, ')}"


async def parameters(request: Request, limit: int, name: str = "json_bytes") -> dict[str, Any]:
    """All parameters of a call; those of the body come before those of the query. Raises `Invalid`, `TooLarge`."""
    query = nested(request.query_params.multi_items())
    values = {name: value for name, value in query.items() if name not in _CREDENTIALS}
    body = await _body(request, limit, name)
    if not body:
        return values
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return values | nested(await _multipart(request, body))
    if kind == "application/x-www-form-urlencoded":
        return values | nested(_urlencoded(body))
    return values | _document(body)


async def _body(request: Request, limit: int, name: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            most = of_installation(f"PERDURE_{name.upper()}", limit)
            announced = request.headers.get("content-length", "")
            known = int(announced) if announced.isascii() and announced.isdigit() else None
            raise TooLarge(most.exceeded("the body", known))
        parts.append(part)
    return b"".join(parts)


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"Bad request: the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise Invalid("Bad request: the body must be a JSON object.")
    return document


def _urlencoded(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MANY)
    except ValueError as error:
        raise Invalid(f"Bad request: the body is not a form of at most {_MANY} fields: {error}") from error


async def _multipart(request: Request, body: bytes) -> list[tuple[str, str]]:
    async def once() -> Any:
        yield body

    try:
        form = await MultiPartParser(request.headers, once(), max_files=0, max_fields=_MANY).parse()
    except (MultiPartException, KeyError) as error:
        raise Invalid(f"Bad request: the body is not a form: {error}") from error
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


def nested(fields: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Flat fields as a document.

    `scope[]=a` becomes a list, `variables[][key]=A` a list of objects, `variables[A]=1` a map. A name that comes again
    begins the next object, as in Rails.
    """
    values: dict[str, Any] = {}
    for name, value in fields:
        if (entry := _ENTRY.fullmatch(name)) is not None:
            entries = values.setdefault(entry["head"], {})
            if not isinstance(entries, dict):
                raise Invalid(f"Bad request: {entry['head']} is given both as a value and as a map.")
            entries[entry["key"]] = value
            continue
        head, bracket, rest = name.partition("[]")
        if not bracket:
            values[name] = value
            continue
        items = values.setdefault(head, [])
        if not isinstance(items, list):
            raise Invalid(f"Bad request: {head} is given both as a value and as a list.")
        if not rest:
            items.append(value)
            continue
        inner = rest.removeprefix("[").removesuffix("]")
        if not items or not isinstance(items[-1], dict) or inner in items[-1]:
            items.append({})
        items[-1][inner] = value
    return values
