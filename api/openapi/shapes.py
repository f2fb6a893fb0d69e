"""The shape of a JSON document, told from an example of it."""

from typing import Any, Final

_KINDS: Final[tuple[tuple[type, str], ...]] = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"))


def schema_of(example: Any) -> dict[str, Any]:
    """A JSON Schema that the example fits; what is null in it may be anything."""
    if isinstance(example, dict):
        return {"type": "object", "properties": {name: schema_of(value) for name, value in example.items()}}
    if isinstance(example, list):
        return {"type": "array", "items": schema_of(example[0])} if example else {"type": "array", "items": {}}
    return next(({"type": name} for kind, name in _KINDS if isinstance(example, kind)), {})


def differences(example: Any, found: Any, place: str = "") -> list[str]:
    """Where a document has another shape than the example: other fields, or values of another kind.

    Null fits everything. Of lists as many items are compared, one by one, as both have.
    """
    if example is None or found is None:
        return []
    if isinstance(example, dict) and isinstance(found, dict):
        other = [f"{place}.{name}" for name in sorted(set(example) ^ set(found))]
        both = (name for name in example if name in found)
        return other + [line for name in both for line in differences(example[name], found[name], f"{place}.{name}")]
    if isinstance(example, list) and isinstance(found, list):
        pairs = zip(example, found, strict=False)
        return [line for one, other in pairs for line in differences(one, other, f"{place}[]")]
    same = isinstance(found, int | float) if isinstance(example, float) else _kind(example) == _kind(found)
    return [] if same else [f"{place}: {_kind(example)} is {_kind(found)}"]


def _kind(value: Any) -> str:
    if isinstance(value, dict | list):
        return "object" if isinstance(value, dict) else "array"
    return next(name for kind, name in _KINDS if isinstance(value, kind))
