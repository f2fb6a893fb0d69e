"""The variables of a job at the moment it is handed out: what we define, who wins, and expansion.

The runner expands each value once more, in one pass, so a variable that speaks of another one must be expanded here, in
the order of reference. Source: docs/reference/ci-yaml.md, "Variables"; docs/reference/runner-protocol.md, "Job
variables".
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from domain.errors import Invalid
from domain.variables.predefined import EventFacts, iso, pipeline_variables, slug
from domain.variables.predefined_server import pages_url

MAX_VALUES: Final = 1024 * 1024
"""Characters of all expanded values of a job together; references multiply what is written once."""

RUNNER_PROVIDED: Final = frozenset(
    {
        "CI_BUILDS_DIR",
        "CI_CONCURRENT_ID",
        "CI_CONCURRENT_PROJECT_ID",
        "CI_DISPOSABLE_ENVIRONMENT",
        "CI_JOB_IMAGE",
        "CI_JOB_STATUS",
        "CI_JOB_TIMEOUT",
        "CI_PROJECT_DIR",
        "CI_RUNNER_EXECUTABLE_ARCH",
        "CI_RUNNER_REVISION",
        "CI_RUNNER_SHORT_TOKEN",
        "CI_RUNNER_VERSION",
        "CI_SERVER_TLS_CA_FILE",
        "CI_SERVER_TLS_CERT_FILE",
        "CI_SERVER_TLS_KEY_FILE",
        "CI_SHARED_ENVIRONMENT",
        "GITLAB_ENV",
        "RUNNER_TEMP_PROJECT_DIR",
    }
)
"""Variables that only the runner knows; a reference to one is left for it."""

RUNNER_PREFIX: Final = "FF_"
"""Feature flags of the runner start so; it knows their values."""

_NUMBERED: Final = re.compile(r"(?<!\s)\s+\d+/\d+$")
_REFERENCE: Final = re.compile(
    r"\$\$|%%|\$([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|%([A-Za-z_][A-Za-z0-9_]*)%"
)


@dataclass(frozen=True, slots=True)
class JobVariable:
    """One variable as the runner gets it.

    `public` also reaches service containers, `masked` is hidden in the log, `file` arrives as the path of a file with
    the value, `raw` keeps its `$` signs.
    """

    key: str
    value: str
    public: bool = True
    masked: bool = False
    file: bool = False
    raw: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts(EventFacts):
    """What there is to know about a job when it is handed out: the event that made it, itself, and who runs it.

    `node_index` is None for a job that is not parallel.
    """

    pipeline_id: int
    pipeline_url: str
    job_id: int
    job_name: str
    job_stage: str
    job_url: str
    job_token: str
    repository_url: str
    runner_id: int
    runner_description: str
    runner_tags: tuple[str, ...]
    job_started_at: datetime | None = None
    is_manual: bool = False
    node_index: int | None = None
    node_total: int | None = None

    @classmethod
    def of(cls, event: EventFacts, **of_job: Any) -> "JobFacts":
        """What is known of a job's event, and of the job."""
        return cls(**{name: getattr(event, name) for name in _OF_EVENT}, **of_job)


_OF_EVENT: Final = tuple(field.name for field in fields(EventFacts))


def predefined(facts: JobFacts) -> tuple[JobVariable, ...]:
    """Every variable that the server defines, before those of the configuration; the token is masked."""
    public = {**pipeline_variables(facts), **_job(facts), **_runner(facts)}
    secret = (
        JobVariable("CI_JOB_TOKEN", facts.job_token, public=False, masked=True, raw=True),
        JobVariable("CI_REPOSITORY_URL", facts.repository_url, public=False, raw=True),
    )
    return (*(JobVariable(key, value, raw=True) for key, value in public.items()), *secret)


def group_name(job_name: str) -> str:
    """The name that all instances of a parallel job share: without `1/3` or `: [linux, arm]` at its end."""
    if not job_name.endswith("]"):
        return _NUMBERED.sub("", job_name) or job_name
    start = job_name.find(": [", job_name.rfind("]", 0, -1) + 1)
    return job_name[:start] if start > 0 else job_name


def _job(facts: JobFacts) -> dict[str, str]:
    return {
        "CI_PIPELINE_ID": str(facts.pipeline_id),
        "CI_PIPELINE_URL": facts.pipeline_url,
        "CI_JOB_ID": str(facts.job_id),
        "CI_JOB_NAME": facts.job_name,
        "CI_JOB_NAME_SLUG": slug(facts.job_name),
        "CI_JOB_GROUP_NAME": group_name(facts.job_name),
        "CI_JOB_STAGE": facts.job_stage,
        "CI_JOB_URL": facts.job_url,
        **({} if facts.job_started_at is None else {"CI_JOB_STARTED_AT": iso(facts.job_started_at)}),
        **({"CI_JOB_MANUAL": "true"} if facts.is_manual else {}),
        **({} if facts.node_index is None else {"CI_NODE_INDEX": str(facts.node_index)}),
        "CI_NODE_TOTAL": str(facts.node_total or 1),
        "CI_PAGES_URL": pages_url(facts.server_url, facts.project_path),
    }


def _runner(facts: JobFacts) -> dict[str, str]:
    """Which runner took the job."""
    return {
        "CI_RUNNER_ID": str(facts.runner_id),
        "CI_RUNNER_DESCRIPTION": facts.runner_description,
        "CI_RUNNER_TAGS": json.dumps(facts.runner_tags, ensure_ascii=False),
    }


def merge(*layers: Iterable[JobVariable]) -> tuple[JobVariable, ...]:
    """One variable for each name, at the place of its first definition; the last definition wins."""
    found = {variable.key: variable for layer in layers for variable in layer}
    return tuple(found.values())


def expand(variables: Iterable[JobVariable]) -> tuple[JobVariable, ...]:
    """Expand `$NAME`, `${NAME}` and `%NAME%` in all values, and merge them as `merge` does.

    - Give all layers, the weakest first, not merged: a definition that names itself means the one before it.
    - Escapes (`$$`, `%%`) stay. Raw variables are not expanded; where another one names them, their `$` become `$$`, so
      that the runner does not expand them either.
    - References to what only the runner knows, and to files, stay. Other unknown names become empty.

    Raises `Invalid` for circles of two or more and for values that grow too large.
    """
    variables = tuple(variables)
    if not any(references(variable) for variable in variables):
        return merge(variables)
    definitions: dict[str, list[JobVariable]] = {}
    for variable in variables:
        definitions.setdefault(variable.key, []).append(variable)
    in_force = {key: _in_force(given) for key, given in definitions.items()}
    graph = {
        key: {name for variable in given for name in references(variable) if name in definitions and name != key}
        for key, given in in_force.items()
    }
    expanded = _Expanded()
    for key in _by_reference(graph):
        for variable in in_force[key]:
            expanded.add(variable)
    return tuple(expanded.known[key] for key in definitions)


def references(variable: JobVariable) -> tuple[str, ...]:
    """Names that a variable speaks of, in order; none for a raw one."""
    if variable.raw:
        return ()
    return tuple(name for match in _REFERENCE.finditer(variable.value) if (name := _name(match)))


class _Expanded:
    """Variables that are expanded already."""

    def __init__(self) -> None:
        self.known: dict[str, JobVariable] = {}
        self._room = MAX_VALUES

    def add(self, variable: JobVariable) -> None:
        """Expand one variable by those known so far, and know it from now on."""
        value = variable.value if variable.raw else _REFERENCE.sub(self._replacement, variable.value)
        self.known[variable.key] = replace(variable, value=value)

    def _replacement(self, match: re.Match[str]) -> str:
        text = self._text(match)
        self._room -= len(text)
        if self._room < 0:
            raise Invalid(
                f"The variables of the job grow to more than {MAX_VALUES:,} characters by references; "
                "shorten them or have the script put them together."
            )
        return text

    def _text(self, match: re.Match[str]) -> str:
        name = _name(match)
        if not name:
            return match[0]
        variable = self.known.get(name)
        if variable is None:
            return match[0] if name in RUNNER_PROVIDED or name.startswith(RUNNER_PREFIX) else ""
        if variable.file:
            return match[0]
        return variable.value.replace("$", "$$") if variable.raw else variable.value


def _name(match: re.Match[str]) -> str:
    """The name of a reference; empty for an escape."""
    return match[1] or match[2] or match[3] or ""


def _in_force(given: list[JobVariable]) -> list[JobVariable]:
    """The last definition, after those that it goes back to by naming itself."""
    first = len(given) - 1
    while first > 0 and given[first].key in references(given[first]):
        first -= 1
    return given[first:]


def _by_reference(graph: Mapping[str, set[str]]) -> Iterable[str]:
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle: list[str] = error.args[1][:-1]
        raise Invalid(
            f"circular variable reference detected: [{', '.join(sorted(circle))}]; "
            "give one of them a value that names none of the others."
        ) from None
