"""Everything that the doors send: each route is called once, with each of its filters, and what removes things last."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from tests.permissions.calls import Call, call_of
from tests.permissions.place import Place
from tests.permissions.routes import every_route

_ORDER: Final = ("GET", "POST", "PATCH", "PUT", "DELETE")
_FORMATS: Final = {"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01"}
_TYPES: Final = {"integer": "2", "boolean": "true", "number": "1"}


def _turn(route: tuple[str, str]) -> tuple[int, int, str]:
    """What is within something goes before it."""
    method, path = route
    removes = method == "DELETE" or path.endswith(("/delete", "/erase", "/archive", "/transfer"))
    return _ORDER.index("DELETE" if removes else method), -len(path.split("/")), path


async def walk(place: Place) -> list[str]:
    """Call every route as an administrator; those that were answered with a fault of ours."""
    async with place.site.client() as nobody:
        document = (await nobody.get("/api/v4/openapi.json")).json()
    broken = []
    for method, route in sorted(every_route(place.site.services), key=_turn):
        call = call_of(method, route)
        operation = document["paths"].get(route, {}).get(method.lower(), {})
        for each in (call, *(_filtered(call, operation) if method == "GET" else ())):
            status = await place.status_now(each, "admin", "own")
            if status >= 500 and status != 501:
                broken.append(f"{method} {each.path}: {status}")
    return broken


def _filtered(call: Call, operation: Mapping[str, Any]) -> Iterator[Call]:
    """The call with each value of each parameter of its query."""
    sign = "&" if "?" in call.path else "?"
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query":
            for value in _values(parameter["schema"]):
                yield replace(call, path=f"{call.path}{sign}{parameter['name']}={value}")


def _values(schema: Mapping[str, Any]) -> list[str]:
    """All of an enumeration, else one that is good."""
    for within in schema.get("anyOf", ()):
        if within.get("type") != "null":
            return _values(within)
    if schema.get("type") == "array":
        return _values(schema.get("items", {}))
    if "enum" in schema:
        return [str(value) for value in schema["enum"]]
    return [_FORMATS.get(schema.get("format", "")) or _TYPES.get(schema.get("type", ""), "main")]
