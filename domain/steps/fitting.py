"""Results of steps that are too large to be told are told without what makes them so: nobody could take them.

Source: docs/reference/steps.md, "Results".
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

MAX_TOLD_NESTED: Final = 32
"""Results within one another; each of the inner ones has been told by itself. Readers of messages take 100 levels."""
MAX_TEXT: Final = 1_000
"""Characters that are left of a text of a result that is too large."""
TOO_LARGE: Final = "what the step got and gave is too large to be told"
_STEPS: Final = "subStepResults"
_SMALL: Final = ("name", "step", "status", "message", "hasSensitive")


def smaller(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A result as `domain.steps.results.document_of` makes it, and what it is without more and more of it."""
    yield _pruned(document, MAX_TOLD_NESTED)
    yield {name: value for name, value in document.items() if name != _STEPS}
    bare = {name: _cut(document[name]) for name in _SMALL if name in document}
    said = bare.get("message")
    if done := document.get("execResult"):
        bare["execResult"] = {"workDir": _cut(done["workDir"]), "exitCode": done["exitCode"]}
    yield bare | {"message": f"{said}; {TOO_LARGE}" if said else TOO_LARGE}


def _pruned(document: Mapping[str, Any], levels: int) -> dict[str, Any]:
    if not levels:
        return {name: value for name, value in document.items() if name != _STEPS}
    if not document.get(_STEPS):
        return dict(document)
    return {**document, _STEPS: [_pruned(one, levels - 1) for one in document[_STEPS]]}


def _cut(value: Any) -> Any:
    return value[:MAX_TEXT] if isinstance(value, str) else value
