"""What a step is, as its file says. Source: docs/reference/steps.md, "Step files"."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from domain.moa.values import Value
from domain.steps.values import ValueType


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input or an output. Without a `default` it is required: an input by the caller, an output of the step."""

    type: ValueType
    has_default: bool = False
    default: Value = None
    is_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """What a step takes and gives. `is_delegated`: its outputs are those of one of its steps."""

    inputs: Mapping[str, Parameter] = field(default_factory=dict)
    outputs: Mapping[str, Parameter] = field(default_factory=dict)
    is_delegated: bool = False


@dataclass(frozen=True, slots=True)
class Exec:
    """A command that is run without a shell, in `work_dir`, or, if that is empty, in the folder of the job."""

    command: tuple[str, ...]
    work_dir: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """Lines for a shell, in the folder of the job."""

    text: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """A step that is defined elsewhere, as it is written there (`domain.steps.references`), and what it gets."""

    reference: Any
    inputs: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """A step of a sequence. Its name is the only one of its kind there."""

    name: str
    work: Script | Fetched
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Steps one after another; their outputs become those of the whole, by expressions, or by the one that is named."""

    calls: tuple[Call, ...]
    outputs: Mapping[str, Value] = field(default_factory=dict)
    delegate: str = ""


Work: TypeAlias = Exec | Sequence


@dataclass(frozen=True, slots=True)
class Definition:
    """A step: what it takes and gives, the environment of its work, and that."""

    spec: Spec
    work: Work
    env: Mapping[str, str] = field(default_factory=dict)
