"""What a pod tells another one of a job that calls it with its token (docs/pods.md, "Calls of jobs")."""

from dataclasses import dataclass
from typing import Final

from domain.pipelines.bridges import Ancestor
from domain.pods.directory import IdKind

HEADER: Final = "Perdure-Job"
"""The header of a call that has a `CallingJob`: JSON in base64url, signed with the call."""
MAX_BODY: Final = 1024 * 1024
"""Bytes: such a call is signed as a whole, so it is read first."""


@dataclass(frozen=True, slots=True)
class CallingJob:
    """A running job of the calling pod, with its project and the ids of the groups around that.

    `username` is whose rights count, `home_id` their account where they are at home. `pipeline_id` is the job's own.
    Of a job that starts another one `ancestors` are the pipelines that have led to its own, that included, and
    `hierarchy` counts those of its hierarchy; of every other call they are empty and 0.
    """

    id: int
    project_id: int
    full_path: str
    group_ids: tuple[int, ...]
    username: str
    home_id: int
    pipeline_id: int
    ancestors: tuple[Ancestor, ...]
    hierarchy: int


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """A project or group (by `kind` and `id`) whose jobs are to get into the project `full_path` of the calling pod.

    `username` is who wants that, `home_id` their account where they are at home.
    """

    username: str
    home_id: int
    full_path: str
    kind: IdKind
    id: int


@dataclass(frozen=True, slots=True)
class Source:
    """What it is called; empty where there is none that the person may see."""

    full_path: str = ""
