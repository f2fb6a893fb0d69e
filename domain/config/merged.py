"""The whole configuration that a pipeline was made from, as it is kept with it: small, and YAML again when it is read.

To write YAML costs nearly as much as to compile; it is written when somebody looks, which is seldom.
"""

import json
import zlib
from collections.abc import Collection
from typing import Final, cast

from domain.config.reading.tree import Items, Map, Value
from domain.config.reading.yaml_text import dump

MAX_CHARACTERS: Final = 8 * 1024 * 1024
"""Of keys and values once each stands where it is used; of more nothing is kept. 5,000 jobs have 1.5 million."""
_LEVEL: Final = 6
_OVERHEAD: Final = 4
"""Characters around a key or value."""


def packed(root: Map) -> bytes:
    """The configuration with includes merged, inputs, `extends` and `!reference` carried out; empty if too large."""
    if _size(root, {}) > MAX_CHARACTERS:
        return b""
    text = json.dumps(root, ensure_ascii=False, separators=(",", ":"), check_circular=False)
    return zlib.compress(text.encode("utf-8", "surrogatepass"), _LEVEL)


def merged_yaml(kept: bytes) -> str:
    """The YAML text of what `packed` gave."""
    return dump(_root(kept))


def parts_of(kept: bytes, names: Collection[str]) -> dict[str, str]:
    """The YAML text of some top-level keys, each alone, of those that are there."""
    root = _root(kept)
    return {name: dump(cast(Value, {name: root[name]})) for name in names if name in root}


def _root(kept: bytes) -> Map:
    return cast(Map, json.loads(zlib.decompress(kept).decode("utf-8", "surrogatepass")))


def _size(value: Value, known: dict[int, int]) -> int:
    """Characters of a value, each shared part as often as it is used, though it is looked at once."""
    if not isinstance(value, (Map, Items)):
        return len(value) + _OVERHEAD if isinstance(value, str) else 2 * _OVERHEAD
    found = known.get(id(value))
    if found is None:
        parts = value.values() if isinstance(value, Map) else value
        found = sum(_size(part, known) for part in parts) + _OVERHEAD
        found += sum(map(len, value)) if isinstance(value, Map) else 0
        known[id(value)] = found
    return found
