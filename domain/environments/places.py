"""Where a job runs into others: its environment and its resource group, with all variables put in.

Both are settled when the pipeline is made. What only a running job knows (`$CI_JOB_ID`, what its script reports) can be
in the environment's address alone, which is completed when the job has succeeded. Source: docs/reference/ci-yaml.md,
"Variables"; docs/reference/pipelines.md, "Environments".
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

from domain.config.issue import ConfigIssue
from domain.config.plan import JobPlan, Plan
from domain.config.readers.environment import TIERS
from domain.config.reading.durations import parse_expiry
from domain.errors import ConfigInvalid, Invalid
from domain.variables.environment_variables import environment_slug, environment_variables, guessed_tier
from domain.variables.job_variables import JobVariable, expand, group_name, references
from domain.variables.predefined import slug

MAX_KEY: Final = 255
"""Characters of a resource group's key after expansion (docs/reference/ci-yaml.md, "Limits")."""
MAX_NAME: Final = 255
MAX_URL: Final = 255
START: Final = "start"
STOP: Final = "stop"

_NAME: Final = re.compile(r"[A-Za-z0-9_/${}. -]+")
_SCHEMES: Final = frozenset({"http", "https"})
_NAMELESS: Final = " "
"""A name that no text can refer to."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job deploys to, and what it must hold for that. All is empty for a job with neither.

    `environment` is also empty when the expanded name is none: the job has an `action` then, and fails when its turn
    comes. `url` still holds names that nobody knows yet (`deployed_url`). `tier` is guessed where the job names none.
    `auto_stop_in` is seconds, None for `never`, for none, and for what is no duration after expansion. `kubernetes` has
    the keys of the keyword: the agent, the namespace, what the dashboard shows.
    """

    environment: str = ""
    url: str = ""
    tier: str = ""
    slug: str = ""
    action: str = ""
    on_stop: str = ""
    auto_stop_in: int | None = None
    resource_group: str = ""
    kubernetes: Mapping[str, Any] = field(default_factory=dict)


NOWHERE: Final = Place()


def place_of(job: JobPlan, known: tuple[JobVariable, ...], asked: tuple[JobVariable, ...] = ()) -> Place:
    """The place of a job. `known` is weaker than the variables of the YAML, `asked` (the pipeline's own) is stronger.

    Raises `Invalid` for variables that go round in circles and for a key that is too long.
    """
    if job.environment is None and not job.resource_group:
        return NOWHERE
    variables = (*known, *_of_job(job), *asked)
    if job.environment is None:
        return Place(resource_group=_key(job, variables))
    written = job.environment
    name = _text(written.name, variables)
    if not is_environment_name(name):
        return Place(action=written.action, resource_group=_key(job, variables))
    tier = _text(written.deployment_tier, variables)
    tier = tier if tier in TIERS else guessed_tier(name)
    of_environment = environment_variables(name, action=written.action, tier=tier)
    variables = (*variables, *of_environment)
    return Place(
        environment=name,
        url=_kept(written.url, variables),
        tier=tier,
        slug=environment_slug(name),
        action=written.action,
        on_stop=written.on_stop,
        auto_stop_in=seconds_of(_text(written.auto_stop_in, variables)),
        resource_group=_key(job, variables),
        kubernetes={name: _filled_in(value, variables) for name, value in written.kubernetes.items()},
    )


def is_environment_name(name: str) -> bool:
    """Whether an environment may be called so."""
    return bool(_NAME.fullmatch(name)) and len(name) <= MAX_NAME and name[0] != "/" and name[-1] != "/"


def places_of(
    plan: Plan,
    known: tuple[JobVariable, ...] = (),
    asked: tuple[JobVariable, ...] = (),
    of_owners: Callable[[str], tuple[JobVariable, ...]] = lambda _environment: (),
) -> tuple[Place, ...]:
    """The place of each job of a plan, in order. Raises `ConfigInvalid` with every job that can have none.

    `of_owners` gives the variables of instance, groups and project for an environment, those of all for "". The name
    of an environment can use the latter only.
    """
    places: list[Place] = []
    issues: list[ConfigIssue] = []
    for job in plan.jobs:
        try:
            places.append(_place_in(job, known, asked, of_owners))
        except Invalid as error:
            issues.append(ConfigIssue(f"{job.name} job: {error}", f"jobs:{job.name}"))
    if issues:
        raise ConfigInvalid(tuple(issues))
    return tuple(places)


def _place_in(
    job: JobPlan,
    known: tuple[JobVariable, ...],
    asked: tuple[JobVariable, ...],
    of_owners: Callable[[str], tuple[JobVariable, ...]],
) -> Place:
    everywhere = of_owners("")
    place = place_of(job, known, (*everywhere, *asked))
    there = of_owners(place.environment)
    if there == everywhere or job.environment is None:
        return place
    named = replace(job, environment=replace(job.environment, name=place.environment))
    return place_of(named, known, (*there, *asked))


def settled(job: JobPlan, place: Place) -> JobPlan:
    """The plan of a job with its environment and its key as they are in this pipeline."""
    if place is NOWHERE:
        return job
    written = job.environment
    if written is not None:
        stays = "" if place.auto_stop_in is None else f"{place.auto_stop_in} seconds"
        tier = place.tier if written.deployment_tier else ""
        written = replace(
            written,
            name=place.environment,
            url=place.url,
            auto_stop_in=stays,
            deployment_tier=tier,
            kubernetes=place.kubernetes,
        )
    return replace(job, resource_group=place.resource_group, environment=written)


def deployed_url(url: str, known: Mapping[str, str]) -> str:
    """The address of a place's `url` with the names that are known by now; empty if it is not one for a browser."""
    variables = (JobVariable(key, value, raw=True) for key, value in known.items())
    text = _text(url, tuple(variables))
    try:
        is_address = urlsplit(text).scheme in _SCHEMES and bool(urlsplit(text).hostname)
    except ValueError:
        return ""
    return text if is_address and len(text) <= MAX_URL else ""


def seconds_of(text: str) -> int | None:
    """`auto_stop_in` in seconds; None for `never`, for nothing, and for what is no duration."""
    try:
        return parse_expiry(text) if text else None
    except Invalid:
        return None


def _of_job(job: JobPlan) -> Iterable[JobVariable]:
    """What we define for a job that has no row yet, then the variables of the YAML."""
    defined = {
        "CI_JOB_NAME": job.name,
        "CI_JOB_NAME_SLUG": slug(job.name),
        "CI_JOB_GROUP_NAME": group_name(job.name),
        "CI_JOB_STAGE": job.stage,
        "CI_NODE_TOTAL": str(job.node_total or 1),
        **({} if job.node_index is None else {"CI_NODE_INDEX": str(job.node_index)}),
        **({"CI_JOB_MANUAL": "true"} if job.when in {"manual", "delayed"} else {}),
    }
    yield from (JobVariable(key, value, raw=True) for key, value in defined.items())
    yield JobVariable("CI_JOB_URL", "$CI_PROJECT_URL/-/jobs/$CI_JOB_ID")
    yield JobVariable("CI_PIPELINE_URL", "$CI_PROJECT_URL/-/pipelines/$CI_PIPELINE_ID")
    yield from (JobVariable(key, variable.value, raw=variable.raw) for key, variable in job.variables.items())


def _key(job: JobPlan, variables: tuple[JobVariable, ...]) -> str:
    key = _text(job.resource_group, variables)
    if len(key) > MAX_KEY:
        raise Invalid(
            f"resource_group is too long after expansion: {len(key)} characters, {MAX_KEY} at most; shorten it."
        )
    return key


def _text(text: str, variables: tuple[JobVariable, ...]) -> str:
    """The text with the variables put in; unknown names become empty, doubled signs single."""
    if "$" not in text and "%" not in text:
        return text
    found = expand((*variables, JobVariable(_NAMELESS, text)))[-1].value
    return found.replace("$$", "$").replace("%%", "%")


def _filled_in(value: Any, variables: tuple[JobVariable, ...]) -> Any:
    """A part of `environment:kubernetes` with the variables put in."""
    if isinstance(value, Mapping):
        return {name: _filled_in(one, variables) for name, one in value.items()}
    return _text(value, variables) if isinstance(value, str) else value


def _kept(text: str, variables: tuple[JobVariable, ...]) -> str:
    """The text with the variables put in; references that mean nothing yet, and doubled signs, stay for later."""
    if "$" not in text and "%" not in text:
        return text
    written = JobVariable(_NAMELESS, text)
    spoken = {name for variable in (*variables, written) for name in references(variable)}
    unknown = spoken - {variable.key for variable in variables}
    later = tuple(JobVariable(name, "", file=True) for name in sorted(unknown))  # references to files stay
    return expand((*later, *variables, written))[-1].value
