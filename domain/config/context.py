"""What the compiler is told about the event that makes a pipeline.

Source: docs/reference/ci-yaml.md, "Predefined variables"; docs/reference/pipelines.md, "Pipeline sources".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from domain.config.plan import Variable


class RefKind(StrEnum):
    """What a pipeline's ref is."""

    BRANCH = "branch"
    TAG = "tag"
    MERGE_REQUEST = "merge_request"


@dataclass(frozen=True, slots=True)
class Context:
    """The event, as far as a configuration can ask for it.

    - `source`: `CI_PIPELINE_SOURCE`. `ref`: short name; for a merge request its source branch.
    - `predefined`: variables of project and pipeline that the server defines; those of single jobs are added here.
    - `project`: variables of instance, group and project, which are stronger than the configuration's.
    - `pipeline`: variables of this run (trigger, API, form, push option, schedule), the strongest.
    - `masked`: names whose values `expand_vars` must not put into texts.
    - `hidden`: names whose values nobody is shown: masked ones, and those of protected refs.
    - `inputs`: values for the inputs that the main file declares.
    - `project_path`: full path of the project, for `only: [main@group/project]`.
    - `parent_job_artifacts`: whether `include:artifact` is permitted (only in a child pipeline's configuration).
    """

    source: str = "push"
    ref: str = "main"
    ref_kind: RefKind = RefKind.BRANCH
    predefined: Mapping[str, str] = field(default_factory=dict)
    project: Mapping[str, Variable] = field(default_factory=dict)
    pipeline: Mapping[str, Variable] = field(default_factory=dict)
    masked: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    project_path: str = ""
    parent_job_artifacts: bool = False
