"""Files to one mapping, as GitLab does it: inputs, includes, `extends`, `!reference`; and lists in lists.

GitLab: "CI/CD YAML syntax reference", "include", "extends", "!reference tags"; "Use CI/CD configuration from other
files", "Merge method for include".
"""

from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.valid.world import Document, Reference, World

Allows = Callable[[list[Document]], bool]
"""Whether the rules of an include let it in."""


def deep_merged(below: Document, above: Document) -> Document:
    """Mappings are merged, all else is replaced; keys stay where they were first."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = deep_merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def one_mapping(world: World, path: str, allows: Allows, given: Document | None = None) -> Document:
    """A file with all that it includes: each include over those before it, the file over all."""
    documents = world.files[path]
    body = documents[-1]
    if len(documents) == 2:
        declared = documents[0]["spec"]["inputs"]
        values = {name: (given or {}).get(name, (declared[name] or {}).get("default")) for name in declared}
        body = _filled(body, values)
    merged: Document = {}
    for item in _listed(body.get("include", [])):
        item = {"local": item} if isinstance(item, str) else item
        if "rules" in item and not allows(item["rules"]):
            continue
        merged = deep_merged(merged, one_mapping(world, item["local"].lstrip("/"), allows, item.get("inputs")))
    return deep_merged(merged, {key: value for key, value in body.items() if key != "include"})


def extended(root: Document, name: str) -> Document:
    """A job over all that it extends; the last of a list is the strongest."""
    job = root[name]
    merged: Document = {}
    for base in _listed(job.get("extends", [])):
        merged = deep_merged(merged, extended(root, base))
    return deep_merged(merged, {key: value for key, value in job.items() if key != "extends"})


def flat(value: Any, root: Document) -> Iterator[Any]:
    """The items of a list, of lists in it, and of those that references lead to; one item alone is a list."""
    if isinstance(value, Reference):
        yield from flat(extended(root, value[0])[value[1]], root)
    elif isinstance(value, list):
        for item in value:
            yield from flat(item, root)
    else:
        yield value


def _filled(value: Any, inputs: Document) -> Any:
    if isinstance(value, dict):
        return {_filled(key, inputs): _filled(item, inputs) for key, item in value.items()}
    if isinstance(value, list):
        return type(value)(_filled(item, inputs) for item in value)
    if type(value) is str:
        for name, filling in inputs.items():
            value = value.replace(f"$[[ inputs.{name} ]]", str(filling))
    return value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
