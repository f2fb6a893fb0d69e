"""The job as the server hands it out (docs/reference/runner-protocol.md, "Job document").

The reader is tolerant: unknown keys are ignored, null and values of a wrong type become the default. Only a job without
id or token is refused, since nothing could be reported about it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.errors import Invalid
from domain.steps.runs import DoneStep

DEFAULT_TIMEOUT = 7200
"""Seconds a job may take when the server names no limit."""
AFTER_SCRIPT = "after_script"


@dataclass(frozen=True, slots=True)
class JobVariable:
    """A variable; a `file` one is handed over as the path of a file with the value, a `raw` one is not expanded."""

    key: str
    value: str
    masked: bool = False
    file: bool = False
    raw: bool = False


@dataclass(frozen=True, slots=True)
class GitInfo:
    """What to check out; `repo_url` holds user and password, `depth` 0 means the whole history."""

    repo_url: str = ""
    ref: str = ""
    sha: str = ""
    refspecs: tuple[str, ...] = ()
    depth: int = 0
    object_format: str = "sha1"


@dataclass(frozen=True, slots=True)
class Step:
    """A named list of commands; `after_script` is the one that always runs."""

    name: str
    script: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArtifactRequest:
    """One upload the job asks for; `artifact_type` is `archive` or the name of a report."""

    name: str = ""
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    untracked: bool = False
    when: str = "on_success"
    artifact_type: str = "archive"
    artifact_format: str = "zip"
    expire_in: str = ""


@dataclass(frozen=True, slots=True)
class Dependency:
    """An earlier job whose archive is unpacked before the script; `token` authorises the download."""

    id: int
    token: str
    name: str
    filename: str


@dataclass(frozen=True, slots=True)
class Features:
    """What the server understands beyond the basic protocol."""

    trace_sections: bool = False
    token_mask_prefixes: tuple[str, ...] = ()
    failure_reasons: tuple[str, ...] = ()
    steps_artifact: bool = False
    """Whether it keeps what became of the steps of `run`."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a runner is told about one job; `timeout` is seconds, `inputs` are values as JSON has them.

    Of containers there are only the names, which may hold variables.
    """

    id: int
    token: str
    name: str = ""
    stage: str = ""
    project_id: int = 0
    allow_git_fetch: bool = True
    timeout: int = DEFAULT_TIMEOUT
    git: GitInfo = GitInfo()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    variables: tuple[JobVariable, ...] = ()
    steps: tuple[Step, ...] = ()
    artifacts: tuple[ArtifactRequest, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    image: str = ""
    services: tuple[str, ...] = ()
    has_cache: bool = False
    features: Features = field(default_factory=Features)
    run: str = ""
    """`run`, a list of steps, as JSON text; then there are no scripts."""
    done: Mapping[str, DoneStep] = field(default_factory=dict)
    """Those of its steps that an earlier attempt has done."""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """As it came: a runner that was killed reads it again."""


def read_job(payload: Mapping[str, Any]) -> Job:
    """Parse the body of a 201; raises Invalid when id or token is missing."""
    job_id, token = _number(payload, "id"), _text(payload, "token")
    if job_id <= 0 or not token:
        raise Invalid("the server handed out a job without a positive `id` or without `token`; it cannot be run")
    info = _object(payload, "job_info")
    timeout = _number(_object(payload, "runner_info"), "timeout")
    return Job(
        id=job_id,
        token=token,
        name=_text(info, "name"),
        stage=_text(info, "stage"),
        project_id=_number(info, "project_id"),
        allow_git_fetch=payload.get("allow_git_fetch") is not False,
        timeout=timeout if timeout > 0 else DEFAULT_TIMEOUT,
        git=_read_git(_object(payload, "git_info")),
        inputs=dict(_read_input(item) for item in _objects(payload, "inputs") if not _is_sensitive(item)),
        variables=tuple(_read_variable(item) for item in _objects(payload, "variables") if _text(item, "key")),
        steps=tuple(Step(_text(item, "name"), _texts(item, "script")) for item in _objects(payload, "steps")),
        artifacts=tuple(_read_artifact(item) for item in _objects(payload, "artifacts")),
        dependencies=tuple(_read_dependency(item) for item in _objects(payload, "dependencies")),
        image=_text(_object(payload, "image"), "name"),
        services=tuple(name for item in _objects(payload, "services") if (name := _text(item, "name"))),
        has_cache=any(_texts(item, "paths") or item.get("untracked") is True for item in _objects(payload, "cache")),
        features=_read_features(_object(payload, "features")),
        run=_text(payload, "run"),
        done={name: _read_done(item) for name, item in _object(_object(payload, "steps_resume"), "done").items()},
        document=payload,
    )


def _read_git(git: Mapping[str, Any]) -> GitInfo:
    return GitInfo(
        repo_url=_text(git, "repo_url"),
        ref=_text(git, "ref"),
        sha=_text(git, "sha"),
        refspecs=_texts(git, "refspecs"),
        depth=max(0, _number(git, "depth")),
        object_format=_text(git, "repo_object_format") or "sha1",
    )


def _read_input(item: Mapping[str, Any]) -> tuple[str, Any]:
    return _text(item, "key"), _object(item, "value").get("content")


def _is_sensitive(item: Mapping[str, Any]) -> bool:
    """Such an input may be in no text: there it would be readable."""
    return _object(item, "value").get("sensitive") is True


def _read_variable(item: Mapping[str, Any]) -> JobVariable:
    return JobVariable(
        key=_text(item, "key"),
        value=_text(item, "value"),
        masked=item.get("masked") is True,
        file=item.get("file") is True,
        raw=item.get("raw") is True,
    )


def _read_artifact(item: Mapping[str, Any]) -> ArtifactRequest:
    return ArtifactRequest(
        name=_text(item, "name"),
        paths=_texts(item, "paths"),
        exclude=_texts(item, "exclude"),
        untracked=item.get("untracked") is True,
        when=_text(item, "when") or "on_success",
        artifact_type=_text(item, "artifact_type") or "archive",
        artifact_format=_text(item, "artifact_format") or "zip",
        expire_in=_text(item, "expire_in"),
    )


def _read_dependency(item: Mapping[str, Any]) -> Dependency:
    return Dependency(
        id=_number(item, "id"),
        token=_text(item, "token"),
        name=_text(item, "name"),
        filename=_text(_object(item, "artifacts_file"), "filename"),
    )


def _read_features(item: Mapping[str, Any]) -> Features:
    return Features(
        trace_sections=item.get("trace_sections") is True,
        token_mask_prefixes=_texts(item, "token_mask_prefixes"),
        failure_reasons=_texts(item, "failure_reasons"),
        steps_artifact=item.get("steps_artifact") is True,
    )


def _read_done(item: Any) -> DoneStep:
    done = item if isinstance(item, dict) else {}
    exports = {name: text for name, text in _object(done, "exports").items() if isinstance(text, str)}
    return DoneStep(_object(done, "outputs"), exports)


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _number(item: Mapping[str, Any], key: str) -> int:
    value = item.get(key)
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    return int(value) if isinstance(value, int | float) else 0


def _texts(item: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = item.get(key)
    return tuple(part for part in value if isinstance(part, str)) if isinstance(value, list) else ()


def _object(item: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def _objects(item: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], ...]:
    value = item.get(key)
    return tuple(part for part in value if isinstance(part, dict)) if isinstance(value, list) else ()
