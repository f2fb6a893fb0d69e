"""Reads step files: two documents, what a step takes and gives, and what it does. Every fault is told with its place.

Source: docs/reference/steps.md, "Step files".
"""

from collections.abc import Mapping
from typing import Any, Final

from domain.config.plan import Document
from domain.config.readers.steps import KINDS_OF_RUNNER, read_steps
from domain.config.reading import checks
from domain.config.reading.budget import TEXT_BYTES
from domain.config.reading.documents import plain
from domain.config.reading.field import Field
from domain.config.reading.issues import Issues
from domain.config.reading.key_names import check_names
from domain.config.reading.tree import Items, Map, Place
from domain.config.reading.yaml_text import parse
from domain.steps.definition import Call, Definition, Exec, Fetched, Parameter, Script, Sequence, Spec
from domain.steps.values import ValueType, is_of, type_of

MAX_CALLS: Final = 1_000
"""Steps of one sequence."""
WITHOUT_SPEC: Final = "{}\n---\n"
"""A step file without a spec begins so."""
_DOCUMENTS: Final = 2
_PARAMETER: Final = frozenset({"type", "default", "description", "sensitive"})
_SPEC: Final = frozenset({"inputs", "outputs"})
_EXEC: Final = frozenset({"command", "work_dir"})
_DEFINITION: Final = frozenset({"env", "exec", "run", "steps", "outputs", "delegate"})
_KINDS: Final = ("exec", "run", "steps")
"""What a step may do; `steps` is what `run` was called before."""
_DELEGATED: Final = "delegate"


def read_definition(text: str, file: str) -> Definition:
    """The step of a file, whose name is for the places of faults. Raises `ConfigInvalid`."""
    issues = Issues(file)
    if len(text) > TEXT_BYTES:
        issues.fail(f"A step file has at most {TEXT_BYTES:,} characters; this one has {len(text):,}")
    documents = parse(text, issues, "")
    issues.raise_if_any()
    if len(documents) != _DOCUMENTS:
        issues.fail(
            f"A step file has two documents, `spec` and what the step does, with a line `---` between them; this one "
            f"has {len(documents)}",
            place=Place(1, 1),
        )
    header, body = (
        Field(value, "", name, place, issues)
        for value, place, name in zip(documents, documents.places, ("header", "step"), strict=True)
    )
    spec = _header(header)
    definition = _body(body, spec)
    issues.raise_if_any()
    return definition


def read_calls(text: str, file: str) -> Sequence:
    """Steps that are a list by themselves, in YAML or JSON, as a job's `run` has them. Raises `ConfigInvalid`."""
    issues = Issues(file)
    documents = parse(text, issues, "")
    issues.raise_if_any()
    if len(documents) != 1:
        issues.fail(f"A list of steps is one document; these are {len(documents)}", place=Place(1, 1))
    calls = _calls(Field(documents[0], "run", "run config", documents.places[0], issues))
    issues.raise_if_any()
    return Sequence(calls)


def _header(field: Field) -> Spec:
    """`{}` and an empty document have no `spec`, as what a runner sends."""
    if field.value is None or not field.has_keys_of(frozenset({"spec"})) or not field.given("spec"):
        return Spec()
    spec = field.entry("spec")
    if not spec.has_keys_of(_SPEC):
        return Spec()
    inputs = _parameters(spec.entry("inputs")) if spec.given("inputs") else {}
    if not spec.given("outputs"):
        return Spec(inputs)
    outputs = spec.entry("outputs")
    if outputs.value == _DELEGATED:
        return Spec(inputs, is_delegated=True)
    return Spec(inputs, _parameters(outputs))


def _parameters(field: Field) -> Mapping[str, Parameter]:
    if not check_names(field):
        return {}
    assert isinstance(field.value, Map)
    found = {name: _parameter(field.entry(name)) for name in field.value}
    return {name: parameter for name, parameter in found.items() if parameter is not None}


def _parameter(field: Field) -> Parameter | None:
    if not field.has_keys_of(_PARAMETER) or field.missing("type"):
        return None
    kind = checks.choice(field.attribute("type"), [str(one) for one in ValueType])
    if field.given("description"):
        checks.text(field.attribute("description"))
    is_sensitive = checks.flag(field, "sensitive")
    if kind is None:
        return None
    if not field.given("default"):
        return Parameter(ValueType(kind), is_sensitive=is_sensitive)
    default = field.attribute("default")
    value = plain(default)
    if not is_of(value, ValueType(kind)):
        default.fault(f"should be of type {kind}, as `type` says; it is of type {type_of(value)}")
        return None
    return Parameter(ValueType(kind), has_default=True, default=value, is_sensitive=is_sensitive)


def _body(field: Field, spec: Spec) -> Definition:
    nothing = Definition(spec, Exec(()))
    if not field.has_keys_of(_DEFINITION):
        return nothing
    kinds = [kind for kind in _KINDS if field.given(kind)]
    if len(kinds) != 1:
        field.fault("must use exactly one of these keys: exec, run")
        return nothing
    env = _texts(field.entry("env")) if field.given("env") else {}
    if kinds == ["exec"]:
        for key in ("outputs", "delegate"):
            if field.given(key):
                field.entry(key).fault("belongs to steps with `run`: a command writes its outputs into the output file")
        return Definition(spec, _exec(field.entry("exec")), env)
    return Definition(spec, _sequence(field, kinds[0], spec), env)


def _exec(field: Field) -> Exec:
    if not field.has_keys_of(_EXEC) or field.missing("command"):
        return Exec(())
    command = checks.strings(field.attribute("command"))
    if command is not None and not command:
        field.attribute("command").fault("can't be blank")
    work_dir = checks.filled_text(field.attribute("work_dir")) if field.given("work_dir") else None
    return Exec(command or (), work_dir or "")


def _sequence(field: Field, key: str, spec: Spec) -> Sequence:
    calls = _calls(field.entry(key))
    delegate = checks.filled_text(field.entry("delegate")) if field.given("delegate") else None
    outputs = _values(field.entry("outputs")) if field.given("outputs") else {}
    if spec.is_delegated and not delegate:
        field.fault("must say by `delegate` which of its steps gives its outputs, since its spec delegates them")
    if delegate and field.given("outputs"):
        field.fault("these keys cannot be used together: outputs, delegate")
    if delegate and not spec.is_delegated:
        field.entry("delegate").fault("needs `outputs: delegate` in the spec")
    if delegate and calls and delegate not in {call.name for call in calls}:
        field.entry("delegate").fault(f"names no step: there is no `{delegate}`")
    if not spec.is_delegated:
        _check_outputs(field, spec, outputs)
    return Sequence(calls, outputs, delegate or "")


def _check_outputs(field: Field, spec: Spec, outputs: Mapping[str, Any]) -> None:
    unknown = [name for name in outputs if name not in spec.outputs]
    if unknown:
        field.entry("outputs").fault(f"gives what the spec does not have: {', '.join(unknown)}")
    lacking = [name for name, one in spec.outputs.items() if name not in outputs and not one.has_default]
    if lacking:
        field.fault(f"must give all outputs of the spec without a default; missing: {', '.join(lacking)}")


def _calls(field: Field) -> tuple[Call, ...]:
    if isinstance(field.value, Items) and len(field.value) > MAX_CALLS:
        field.fault(f"has {len(field.value):,} steps; at most {MAX_CALLS:,} may follow one another")
        return ()
    found = read_steps(field, KINDS_OF_RUNNER) or ()
    return tuple(_call(document) for document in found if _is_whole(document, field))


def _is_whole(document: Document, field: Field) -> bool:
    """Whether a step has what it needs; what it lacks was told by the reader of `run`."""
    if document.get("action") is not None:
        field.fault(
            f"step {document.get('name')}: `action` runs actions of another system, which this step runner does not; "
            "use `script`, or a step"
        )
        return False
    return "name" in document and any(kind in document for kind in ("script", "step", "func"))


def _call(document: Document) -> Call:
    env = document.get("env", {})
    if "script" in document:
        return Call(document["name"], Script(document["script"]), env)
    reference = document["func"] if "func" in document else document["step"]
    return Call(document["name"], Fetched(reference, document.get("inputs", {})), env)


def _texts(field: Field) -> Mapping[str, str]:
    if not check_names(field):
        return {}
    assert isinstance(field.value, Map)
    found = {name: checks.text(field.entry(name)) for name in field.value}
    return {name: text for name, text in found.items() if text is not None}


def _values(field: Field) -> Mapping[str, Any]:
    if not check_names(field):
        return {}
    assert isinstance(field.value, Map)
    return {name: plain(field.entry(name)) for name in field.value}
