"""`run`: a job made of steps.

Source: docs/reference/ci-yaml.md, "Job keywords"; docs/reference/steps.md, "Steps of a job".
"""

from collections.abc import Mapping
from typing import Any, Final

from domain.config.plan import Document
from domain.config.reading import checks
from domain.config.reading.documents import Key, Shape, mapping, read_shape
from domain.config.reading.field import Field
from domain.config.reading.key_names import check_names, is_name
from domain.config.reading.tree import Items, Map


def read_steps(field: Field, kinds: Mapping[str, Shape] | None = None) -> tuple[Document, ...] | None:
    """A list of steps, each as it was written; their kinds are those of `.gitlab-ci.yml` unless they are given.

    The path of what is wrong names the step by its position from 0.
    """
    if not isinstance(field.value, Items):
        field.fault("should be an array of steps")
        return None
    if not field.value:
        field.fault("can't be blank")
        return None
    steps = []
    names: dict[str, int] = {}
    for position, element in enumerate(field.elements()):
        path = f"{field.path}:{position}"
        one = Field(element.value, path, f"{path} config", element.place, field.issues)
        step = _step(one, kinds or KINDS)
        if step is not None:
            steps.append(step)
            _check_new(one, step.get("name"), names, position)
    return tuple(steps)


def _step(field: Field, kinds: Mapping[str, Shape]) -> Document | None:
    """One step; what else it may hold depends on its kind of work."""
    given = [kind for kind in kinds if field.given(kind)]
    if len(given) == 1:
        return read_shape(field, kinds[given[0]])
    found = read_shape(field, {key: value for shape in kinds.values() for key, value in shape.items()})
    if found is not None:
        field.fault(f"must use exactly one of these keys: {', '.join(kinds)}")
    return found


def _check_new(field: Field, name: str | None, names: dict[str, int], position: int) -> None:
    """Results are found by the name of their step."""
    if name is not None and names.setdefault(name, position) != position:
        field.attribute("name").fault(f"has already been taken by step {names[name]}; choose another one")


def _name(field: Field) -> str | None:
    name = checks.filled_text(field)
    if name is None or is_name(name):
        return name
    field.fault("can contain only letters, digits and '_', and cannot start with a digit")
    return None


def _env(field: Field) -> Mapping[str, str] | None:
    """Texts by name. Numbers are no texts here: the step runner's schema refuses them."""
    if not check_names(field):
        return None
    assert isinstance(field.value, Map)
    found = {name: checks.text(field.attribute(name)) for name in field.value}
    return {name: value for name, value in found.items() if value is not None}


def _inputs(field: Field) -> Document | None:
    return mapping(field) if check_names(field) else None


def _reference(field: Field) -> Any:
    """Where a step comes from: a text, or a mapping for one kind of place."""
    if isinstance(field.value, str):
        return checks.filled_text(field)
    if not isinstance(field.value, Map):
        field.fault("should be a hash or a string")
        return None
    found = read_shape(field, REFERENCE)
    if sum(field.given(kind) for kind in REFERENCE) != 1:
        field.fault(f"must use exactly one of these keys: {', '.join(REFERENCE)}")
    return found


_required: Final = Key(checks.filled_text, required=True)
_optional: Final = Key(checks.filled_text)

GIT: Final[Shape] = {"url": _required, "rev": _required, "dir": _optional, "file": _optional}
"""Keys of a step's `git`."""
OCI: Final[Shape] = {
    "registry": _required,
    "repository": _required,
    "tag": _required,
    "dir": _optional,
    "file": _optional,
}
"""Keys of a step's `oci`."""
REFERENCE: Final[Shape] = {
    "git": Key(lambda field: read_shape(field, GIT), nested=True),
    "oci": Key(lambda field: read_shape(field, OCI), nested=True),
}
"""Kinds of places from which a step is fetched."""

_STEP: Final[Shape] = {"name": Key(_name, required=True), "env": Key(_env, nested=True)}
_INPUTS: Final[Shape] = {"inputs": Key(_inputs, nested=True)}
_FETCHED: Final = Key(_reference, nested=True)

KINDS: Final[Mapping[str, Shape]] = {
    "script": {**_STEP, "script": _optional},
    "step": {**_STEP, **_INPUTS, "step": _FETCHED},
    "func": {**_STEP, **_INPUTS, "func": _FETCHED},
}
"""What a step of each kind may hold; a script has no inputs."""
KINDS_OF_RUNNER: Final[Mapping[str, Shape]] = {**KINDS, "action": {**_STEP, **_INPUTS, "action": _optional}}
"""What a step may hold that a step runner is sent: GitLab refuses `action` in `.gitlab-ci.yml`, its runner does not."""
