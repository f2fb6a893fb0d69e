"""Examples of calls, each with the response that it really got (`python -m tests.api.openapi.examples`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

FILE = "examples.json"


@dataclass(frozen=True, slots=True)
class Example:
    """A call of an operation: values of its path and query, its body; the status, and the response (None for none).

    A text is the response of a call that gives no JSON.
    """

    status: int
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    response: Any = None


@cache
def examples() -> Mapping[tuple[str, str], Example]:
    """The examples by method and path, as `("GET", "/api/v4/projects/{project}")`."""
    found = orjson.loads((files("api.openapi") / FILE).read_bytes())
    return {(name.partition(" ")[0], name.partition(" ")[2]): Example(**values) for name, values in found.items()}
