"""Parameters of a call as GitLab takes them: from the query, a form or a JSON document, all alike."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qsl

import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError, model_validator
from starlette.formparsers import MultiPartException, MultiPartParser

from api.deps import ServicesDep
from api.v4.without_effect import Parameters, refuse_unkept
from domain.errors import FieldsInvalid, Invalid, ParametersInvalid, TooLarge
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

    def __init__(self, model: type[Model], limit: str, without_effect: Parameters) -> None:
        """`limit` is the field of `SizeLimits` that says how large the body may be."""
        self.model = model
        self.without_effect = without_effect
        self._limit = limit

    async def __call__(self, request: Request, services: ServicesDep) -> Model:
        """The parameters. Raises `Invalid` with every fault."""
        most = getattr(services.settings.sizes, self._limit)
        values = await parameters(request, most, self._limit)
        refuse_unkept(self.without_effect, values)
        return validated(self.model, values)


def given(
    model: type[Model], limit: str = "json_bytes", without_effect: Parameters = MappingProxyType({})
) -> Given[Model]:
    """A dependency that reads the parameters of a call into `model`. Raises `Invalid` with every fault.

    `limit` is the field of `SizeLimits` that says how large the body may be; `without_effect` are those that GitLab
    documents and that nothing here heeds.
    """
    return Given(model, limit, without_effect)


def validated(model: type[Model], values: dict[str, Any]) -> Model:
    """The model that these values make. Raises `ParametersInvalid` or `FieldsInvalid` with every fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = error.errors()
        wrong = [fault for fault in faults if fault["type"] not in _OF_VALUES]
        if wrong:
            raise ParametersInvalid(", ".join(f"{_name(fault)} {_text(fault)}" for fault in wrong)) from error
        raise FieldsInvalid(**{_name(fault): _text(fault) for fault in faults}) from error


_OF_VALUES: Final[Mapping[str, str]] = {
    "string_too_long": "is too long (maximum is {max_length} characters)",
    "string_too_short": "is too short (minimum is {min_length} character(s))",
    "string_pattern_mismatch": "is invalid",
    "value_error": "is invalid: {error}",
    "too_long": "is too long (maximum is {max_length})",
    "too_short": "is too short (minimum is {min_length})",
    "greater_than_equal": "must be greater than or equal to {ge}",
    "less_than_equal": "must be less than or equal to {le}",
}
"""Faults of values that are of the right kind: GitLab tells them field by field, and only when no other is there."""
_WRONG: Final = {
    "missing": "is missing",
    "literal_error": "does not have a valid value",
    "enum": "does not have a valid value",
}


def _name(fault: Any) -> str:
    return ".".join(str(part) for part in fault["loc"]) or "request"


def _text(fault: Any) -> str:
    """What is wrong, in GitLab's words where it has any."""
    if fault["type"] in _OF_VALUES:
        return _OF_VALUES[fault["type"]].format(**fault.get("ctx", {}))
    return _WRONG.get(fault["type"]) or f"is invalid: {fault['msg']}"


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
