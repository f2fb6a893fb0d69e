"""The OpenAPI document as a page: every call of the REST API, with its parameters and examples."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from fastapi import Request
from fastapi.responses import Response

from api.deps import CallerDep
from api.openapi.examples import Example, examples
from api.pages.frame.responses import page
from api.routes import RouteList

DOCUMENT: Final = "/api/v4/openapi.json"

router = RouteList()


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of a call: `place` is where it stands."""

    name: str
    place: str
    kind: str
    required: bool
    description: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """An operation as the page shows it; examples are texts, empty for none."""

    anchor: str
    method: str
    path: str
    text: str
    fields: list[Field] = field(default_factory=list)
    request: str = ""
    status: str = ""
    response: str = ""


@router.get("/-/api")
def api_page(request: Request, caller: CallerDep) -> Response:
    """The page; no coroutine, since the document may have to be made first, which takes half a second."""
    document = request.app.openapi()
    return page(
        "frame/api.html", caller, about=document["info"]["description"], document=DOCUMENT, groups=groups(document)
    )


def groups(document: dict[str, Any]) -> dict[str, list[Call]]:
    """The calls of the REST API by heading, in the order of their names."""
    found: dict[str, list[Call]] = {}
    for path, operations in sorted(document["paths"].items()):
        for method, operation in operations.items():
            if operation.get("tags"):
                found.setdefault(operation["tags"][0], []).append(_call(document, method.upper(), path, operation))
    return dict(sorted(found.items()))


def _call(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> Call:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    example = examples().get((method, path))
    return Call(
        anchor=f"{method}{path}".replace("/", "-").replace("{", "").replace("}", ""),
        method=method,
        path=path,
        text=operation.get("description") or operation.get("summary", ""),
        fields=[*_parameters(operation), *_fields(document, body.get("schema", {}))],
        request="" if example is None else _request(method, path, example),
        status="" if example is None else str(example.status),
        response="" if example is None else _text(example.response),
    )


def _parameters(operation: dict[str, Any]) -> Iterator[Field]:
    for one in operation.get("parameters", ()):
        yield Field(one["name"], one["in"], _kind(one.get("schema", {})), one.get("required", False))


def _fields(document: dict[str, Any], schema: dict[str, Any]) -> Iterator[Field]:
    name = schema.get("$ref", "").rpartition("/")[2]
    whole = document["components"]["schemas"].get(name, schema) if name else schema
    for key, one in whole.get("properties", {}).items():
        yield Field(key, "body", _kind(one), key in whole.get("required", ()), one.get("description", ""))


def _kind(schema: dict[str, Any]) -> str:
    """A type in a word, or the values that there are."""
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    parts = [_kind(one) for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if parts:
        return " or ".join(parts)
    named: str = schema.get("type") or schema.get("$ref", "").rpartition("/")[2]
    return f"{named} of {_kind(schema['items'])}" if named == "array" and schema.get("items") else named


def _request(method: str, path: str, example: Example) -> str:
    """The example as a call of curl."""
    for name, value in example.path.items():
        path = path.replace(f"{{{name}}}", value)
    query = f"?{urlencode(example.query, safe='[]')}" if example.query else ""
    lines = [f"curl -X {method} {quote(f'$URL{path}{query}')}".replace("'$URL", "$URL'"), '-H "PRIVATE-TOKEN: $TOKEN"']
    if example.body is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d {quote(_text(example.body))}"]
    return " \\\n  ".join(lines)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
