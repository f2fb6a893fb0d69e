"""Bodies that calls of the REST API may have, made from the OpenAPI document."""

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]


def bodies(document: Document) -> Iterator[tuple[str, str, Document, Document]]:
    """Of each call that takes a JSON body: method, route, a body with every field, and the schemas of its fields."""
    for route, methods in document["paths"].items():
        for method in methods.keys() & {"post", "put", "patch"}:
            content = (methods[method].get("requestBody") or {}).get("content", {}).get("application/json")
            if content is not None and not route.endswith("/jobs/request"):  # which waits for jobs
                fields = resolved(content["schema"], document).get("properties", {})
                yield method, route, {name: plausible(schema, document) for name, schema in fields.items()}, fields


def resolved(schema: Document, document: Document) -> Document:
    """A schema without the detour by its name."""
    named = schema.get("$ref")
    found: Document = document["components"]["schemas"][named.rpartition("/")[2]] if named else schema
    return found


def plausible(schema: Document, document: Document) -> Any:
    """Some value that a schema allows."""
    whole = resolved(schema, document)
    for choice in ("anyOf", "allOf", "oneOf"):
        if choice in whole:
            return plausible(whole[choice][0], document)
    if "enum" in whole:
        return whole["enum"][0]
    values = {"integer": max(1, whole.get("minimum", 1)), "number": 1, "boolean": False, "array": [], "object": {}}
    return values.get(whole.get("type", "string"), "plausible")
