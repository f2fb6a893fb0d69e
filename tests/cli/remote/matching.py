"""Comparing what commands print with the schemas of the documentation."""

from typing import Any

import jsonschema


def matches(shown: Any, schema: dict[str, Any]) -> bool:
    """True; raises `ValidationError`, which says more than false would."""
    jsonschema.validate(shown, schema)
    return True


def matches_list(shown: Any, schema: dict[str, Any]) -> bool:
    """The same for a list that is not empty."""
    assert shown
    return matches(shown, {"type": "array", "items": schema})
