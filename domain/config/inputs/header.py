"""The header of a file: the document with `spec` before the configuration.

Source: docs/reference/ci-yaml.md, "Global keywords", "Inputs".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Final

from domain.config.inputs.input_entry import read_input
from domain.config.inputs.input_spec import INPUT, InputSpec
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.issues import Issues
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import NOWHERE, Items, Map, Place, Value
from domain.config.rules.patterns import Patterns

HEADER: Final = frozenset({"spec"})
"""Keys of a header."""
SPEC: Final = frozenset({"component", "description", "include", "inputs"})
"""Keys of `spec`."""
SHARED: Final = frozenset({"inputs"})
"""Keys of a file that `spec:include` names."""
COMPONENT: Final = frozenset({"name", "reference", "sha", "version"})
"""What `spec:component` may list."""
MAX_DESCRIPTION: Final = 256
"""Characters of `spec:description`."""

MAX_INPUTS: Final = 1_000
"""Inputs that one file may declare; a limit of our own, since all that a file declares is read for each include."""
MAX_RULES: Final = 1_000
"""Rules of all inputs of one file; each is parsed and evaluated for each include."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself.

    `inputs` are its own until `with_shared` adds those of the files in `include`, which is the value as written (None
    if there is none). `component` are the facts of the component that blocks may ask for.
    """

    inputs: Mapping[str, InputSpec] = field(default_factory=dict)
    component: tuple[str, ...] = ()
    include: Value = None
    include_place: Place = NOWHERE
    description: str = ""
    place: Place = NOWHERE


def read_header(header: Map, issues: Issues, patterns: Patterns | None = None) -> Header:
    """Read a header; notes what is wrong with it. What could not be read is left out.

    `patterns` are those of the whole configuration, whose limits all its files share.
    """
    top = Field(header, "header", "header config", header.place, issues)
    top.has_keys_of(HEADER)
    if not top.given("spec"):
        return Header(place=header.place)
    spec = top.entry("spec")
    if not spec.has_keys_of(SPEC):
        return Header(place=header.place)
    found = Header(
        inputs=_inputs(spec.entry("inputs"), patterns or Patterns()) if spec.given("inputs") else {},
        component=_component(spec.entry("component")) if spec.given("component") else (),
        description=_description(spec) if spec.given("description") else "",
        place=spec.place,
    )
    if not spec.given("include"):
        _check_rules(found.inputs, issues)
        return found
    include = spec.entry("include")
    return replace(found, include=include.value, include_place=include.place)


def include_of(header: Map) -> tuple[Value, Place] | None:
    """`spec:include` as it is written, and where."""
    spec = header.get("spec")
    if not isinstance(spec, Map) or spec.get("include") is None:
        return None
    return spec["include"], spec.places["include"]


def read_shared_inputs(root: Map, issues: Issues, patterns: Patterns | None = None) -> Mapping[str, InputSpec]:
    """The inputs of a file that `spec:include` names; it holds nothing else."""
    top = Field(root, "header:include", "header:include config", root.place, issues)
    top.has_keys_of(SHARED)
    return _inputs(top.entry("inputs"), patterns or Patterns()) if top.given("inputs") else {}


def with_shared(header: Header, shared: Iterable[Mapping[str, InputSpec]], issues: Issues) -> Header:
    """The header with the inputs of all files of its `spec:include`; no name may be declared twice."""
    found: dict[str, InputSpec] = {}
    twice: dict[str, InputSpec] = {}
    for inputs in (*shared, header.inputs):
        twice |= {name: spec for name, spec in inputs.items() if name in found}
        found |= inputs
    if twice:
        issues.add(
            f"Duplicate input keys found: {', '.join(twice)}. "
            "Input keys must be unique across all included files and inline specifications",
            "header:spec:include",
            header.include_place,
        )
    _check_rules(found, issues)
    return replace(header, inputs=found, include=None)


def _inputs(field: Field, patterns: Patterns) -> Mapping[str, InputSpec]:
    if not isinstance(field.value, Map):
        field.fault("should be a hash")
        return {}
    rules = (config.get("rules") for config in field.value.values() if isinstance(config, Map))
    if len(field.value) > MAX_INPUTS or sum(len(listed) for listed in rules if isinstance(listed, Items)) > MAX_RULES:
        field.fault(f"has too many entries; there may be {MAX_INPUTS:,} inputs and {MAX_RULES:,} rules of inputs")
        return {}
    return {name: read_input(field.entry(name), name, INPUT, f"`{name}` input:", patterns) for name in field.value}


def _component(field: Field) -> tuple[str, ...]:
    names = checks.strings(field) or ()
    unknown = [name for name in names if name not in COMPONENT]
    if unknown:
        hint = nearest(unknown, COMPONENT) or f"; it may list {', '.join(sorted(COMPONENT))}"
        field.fault(f"contains unknown values: {', '.join(unknown)}{hint}")
    return tuple(name for name in dict.fromkeys(names) if name in COMPONENT)


def _description(spec: Field) -> str:
    description = spec.attribute("description")
    text = checks.text(description) or ""
    if len(text) > MAX_DESCRIPTION:
        description.fault(f"is too long (maximum is {MAX_DESCRIPTION} characters)")
    return text


def _check_rules(inputs: Mapping[str, InputSpec], issues: Issues) -> None:
    """Rules may ask for declared inputs only, and not in a circle."""
    asked: dict[str, list[str]] = {name: [] for name in inputs}
    for name, spec in inputs.items():
        for number, rule in enumerate(spec.rules):
            names = rule.condition.inputs if rule.condition else ()
            undefined = [other for other in names if other not in inputs]
            asked[name] += (other for other in names if other in inputs)
            if undefined:
                text = f"rule[{number}] references undefined inputs: {', '.join(undefined)}{nearest(undefined, inputs)}"
                issues.add(f"`{name}` input: {text}", f"header:spec:inputs:{name}:rules", rule.place)
    try:
        TopologicalSorter(asked).prepare()
    except CycleError as error:
        circle = [str(name) for name in error.args[1]]
        text = f"circular dependency detected: {' -> '.join(circle)}"
        place = inputs[circle[0]].place
        issues.add(f"`{circle[0]}` input: {text}", f"header:spec:inputs:{circle[0]}:rules", place)
