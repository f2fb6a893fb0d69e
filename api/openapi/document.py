"""What the OpenAPI document tells beside what FastAPI reads from signatures: bodies, errors, tokens, tags, examples."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args, get_origin

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from api.openapi.examples import Example, examples
from api.openapi.shapes import schema_of
from api.v4.parameters import Given
from auth.job_routes import scope_for

Schema = dict[str, Any]

PREFIX: Final = "/api/v4/"
_SCHEMAS: Final = "#/components/schemas/{model}"
_MESSAGE: Final[Schema] = {
    "type": "object",
    "properties": {
        "message": {"description": "What is wrong: a text, or texts by field."},
        "error": {"type": "string", "description": "The same of parameters that are missing or of the wrong kind."},
    },
}
_ERRORS: Final = {
    400: ("Invalid", "The call is wrong; `message` says what, where and why."),
    401: ("Unauthenticated", "This needs a token, and none that is good was shown."),
    403: ("Forbidden", "The caller may not do this, or their token is not for it."),
    404: ("NotFound", "There is no such thing, or the caller may not know of it."),
    429: ("TooMany", "Too many calls in a minute; come back in `Retry-After` seconds."),
}
_SCHEMES: Final[Schema] = {
    "PrivateToken": {"type": "apiKey", "in": "header", "name": "PRIVATE-TOKEN"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_ABOUT: Final = (
    "GitLab's REST API, version 4, as far as this server has it. Parameters are taken from the query, from a form or "
    "from a JSON object, all alike. Lists come in pages (`page`, `per_page`), of which `Link` and, up to 10,000 items, "
    "`X-Total` tell. With an `Idempotency-Key` a call that is repeated is carried out once."
)


def described(document: Schema, routes: Collection[APIRoute]) -> Schema:
    """The document with all that; `document` itself is changed. `routes` are those of which it tells."""
    bodies = dict(bodies_of(routes))
    names, definitions = models_json_schema(
        [(model, "validation") for model in dict.fromkeys(body.model for body in bodies.values())],
        ref_template=_SCHEMAS,
    )
    document["info"]["description"] = _ABOUT
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    _add(schemas, definitions.get("$defs", {}))
    for taken in bodies.values():
        known = schemas[names[taken.model, "validation"]["$ref"].rpartition("/")[2]].setdefault("properties", {})
        known |= {name: one.schema for name, one in taken.without_effect.items() if name not in known}
    typed = {call: str(route.status_code or 200) for call, route in _calls(routes) if has_type(route.response_model)}
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    parts.setdefault("responses", {}).update(_responses())
    parts.setdefault("securitySchemes", {}).update(_SCHEMES)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            given = bodies.get((method.upper(), path))
            body = None if given is None else names[given.model, "validation"]
            _describe(operation, method.upper(), path, body)
            if (example := examples().get((method.upper(), path))) is not None and path.startswith(PREFIX):
                _show(operation, example, typed.get((method.upper(), path)))
    return document


def has_type(model: Any) -> bool:
    """Whether a response model says more than that there is a document, or a list of them."""
    if model is None or model is Any:
        return False
    origin, arguments = get_origin(model), get_args(model)
    if isinstance(origin, type) and issubclass(origin, Mapping | Sequence):
        return has_type(arguments[-1])
    return True


def _add(schemas: Schema, bodies: Schema) -> None:
    """Put the schemas of bodies beside those that FastAPI made. Raises `ValueError` where two share a name."""
    for name, schema in bodies.items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"{name} is the name of two different schemas; call one otherwise.")


def _calls(routes: Iterable[APIRoute]) -> Iterator[tuple[tuple[str, str], APIRoute]]:
    """Routes by method and path."""
    for route in routes:
        yield from (((method, route.path_format), route) for method in route.methods or ())


def bodies_of(routes: Iterable[APIRoute]) -> Iterator[tuple[tuple[str, str], Given[Any]]]:
    """What reads the parameters of each call that has any in its body, by method and path."""
    for call, route in _calls(routes):
        given = _given_of(route.dependant)
        if given is not None:
            yield call, given


def _given_of(dependant: Dependant) -> Given[Any] | None:
    if isinstance(dependant.call, Given):
        return dependant.call
    return next((given for one in dependant.dependencies if (given := _given_of(one)) is not None), None)


def _responses() -> Schema:
    content = {"application/json": {"schema": _MESSAGE}}
    return {name: {"description": text, "content": content} for name, text in _ERRORS.values()}


def _describe(operation: Schema, method: str, path: str, body: Schema | None) -> None:
    operation["responses"].pop("422", None)
    known = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
    for name in _PARAMETER.findall(path):  # one that the call reads from its address by itself
        if name not in known:
            parameter = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            operation.setdefault("parameters", []).append(parameter)
    if body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": body}}}
    if not path.startswith(PREFIX):
        return
    operation["tags"] = [tag_of(path)]
    operation["responses"] |= {
        str(status): {"$ref": f"#/components/responses/{name}"} for status, (name, _) in _ERRORS.items()
    }
    operation["security"] = [{"PrivateToken": []}, {"Bearer": []}, {}]
    if scope_for(method, _PARAMETER.sub("1", path)) is not None:
        operation["security"].insert(2, {"JobToken": []})


def tag_of(path: str) -> str:
    """Under which heading a call stands: what it is about, below its project or group."""
    words = [word for word in path.removeprefix(PREFIX).split("/") if not word.startswith("{")]
    if words[0] in {"projects", "groups"} and len(words) > 1:
        return words[1].replace("_", " ")
    return words[0].replace("_", " ")


def _show(operation: Schema, example: Example, declared: str | None) -> None:
    """Put an example into an operation.

    `declared` is the status under which FastAPI tells the type of the response; None where there is no type: then the
    example says what the response is like.
    """
    for parameter in operation.get("parameters", ()):
        values = {"path": example.path, "query": example.query}.get(parameter["in"], {})
        if parameter["name"] in values:
            parameter["example"] = values[parameter["name"]]
    if example.body is not None:
        content = operation.setdefault("requestBody", {"content": {"application/json": {"schema": {}}}})["content"]
        content["application/json"]["example"] = example.body
    responses = operation["responses"]
    response: Schema = {"description": "What the example gets."}
    if declared is not None:
        response["content"] = {
            "application/json": {"schema": responses[declared]["content"]["application/json"]["schema"]}
        }
        if example.response is not None:
            response["content"]["application/json"]["example"] = example.response
    elif isinstance(example.response, str):
        response["content"] = {"text/plain": {"schema": {"type": "string"}, "example": example.response}}
    elif example.response is not None:
        shape = schema_of(example.response)
        response["content"] = {"application/json": {"schema": shape, "example": example.response}}
    for status in [status for status in responses if status.startswith("2")]:
        if declared is None or status == declared:
            del responses[status]
    operation["responses"] = {str(example.status): response, **responses}
