"""What became of steps: a tree, as it is told while they run, and when they have ended.

Source: docs/reference/steps.md, "Results".
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from domain.moa.values import Value, text_of
from domain.steps.rendering import Known

MASK: Final = "[MASKED]"
"""Stands for a sensitive value wherever it is told."""
MIN_SECRET: Final = 4
"""Characters of a sensitive text that is masked in logs: a shorter one would take half of a log with it."""


class StepStatus(StrEnum):
    """How far a step is."""

    UNSPECIFIED = "unspecified"
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"


ENDED: Final = frozenset({StepStatus.SUCCESS, StepStatus.FAILURE, StepStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class ExecResult:
    """A command that was run; the exit code is -1 for one that could not be started, or was killed."""

    command: tuple[str, ...]
    work_dir: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step, how far it is, what it gave, and what became of the steps that it is made of."""

    name: str
    reference: str
    status: StepStatus
    inputs: Mapping[str, Known] = field(default_factory=dict)
    outputs: Mapping[str, Known] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, Known] = field(default_factory=dict)
    exec_result: ExecResult | None = None
    failure: str = ""
    """Why it failed, in a sentence; empty otherwise."""
    steps: tuple["StepResult", ...] = ()


def document_of(result: StepResult) -> dict[str, Any]:
    """A result as JSON, in the names of protobuf's JSON. Sensitive values are masked, and empty fields left out."""
    document: dict[str, Any] = {
        "name": result.name,
        "step": result.reference,
        "status": str(result.status),
        "inputs": _told(result.inputs),
        "outputs": _told(result.outputs),
        "exports": dict(result.exports),
        "env": _told(result.env),
        "message": result.failure,
        "hasSensitive": has_sensitive(result),
        "subStepResults": [document_of(one) for one in result.steps],
    }
    if result.exec_result is not None:
        done = result.exec_result
        document["execResult"] = {
            "command": list(done.command),
            "workDir": done.work_dir,
            "exitCode": done.exit_code,
        }
    return {name: value for name, value in document.items() if value not in ("", [], {}, False)}


def has_sensitive(result: StepResult) -> bool:
    """Whether a step gave something that is masked where it is told."""
    return any(one.is_sensitive for one in result.outputs.values())


def secrets_of(result: StepResult) -> set[str]:
    """The texts that a log must not show once a step has got or given them, those of its steps among them."""
    found = {text for one in result.steps for text in secrets_of(one)}
    for known in (*result.inputs.values(), *result.outputs.values(), *result.env.values()):
        if known.is_sensitive:
            found.update(text for text in _texts(known.value) if len(text) >= MIN_SECRET)
    return found


def _texts(value: Value) -> Iterator[str]:
    """The texts and numbers in a value, also as JSON writes them."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        text = text_of(value)
        yield from {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _told(known: Mapping[str, Known]) -> dict[str, Any]:
    return {name: MASK if one.is_sensitive else one.value for name, one in known.items()}
