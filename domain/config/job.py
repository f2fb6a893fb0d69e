"""One job as it is written: every keyword read, nothing yet looked up in other jobs. Reference: CI YAML, section 6."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from domain.config import checks
from domain.config.durations import WEEK
from domain.config.entries import Entries
from domain.config.field import Field
from domain.config.keywords import JOB, PAGES_JOB, REFUSED_JOB_NAMES, not_yet
from domain.config.needs import LONGEST_NAME, DependencyEntry, NeedEntry
from domain.config.parallel import Matrix
from domain.config.plan import Artifacts, Image, RetryPolicy, Variable, When
from domain.config.recovery import AllowFailure
from domain.config.tree import Map, Place

DEFAULT_STAGE: Final = "test"
NO_RETRY: Final = RetryPolicy()


@dataclass(frozen=True, slots=True)
class JobDraft:
    """A job with the keywords it was given or took from `default`; `place` is where its name stands.

    `stage` is empty if it could not be read.
    """

    name: str
    place: Place
    stage: str = DEFAULT_STAGE
    script: tuple[str, ...] = ()
    before_script: tuple[str, ...] = ()
    after_script: tuple[str, ...] = ()
    when: str = When.ON_SUCCESS
    start_in: int | None = None
    allow_failure: AllowFailure | None = None
    needs: tuple[NeedEntry, ...] | None = None
    dependencies: tuple[DependencyEntry, ...] | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    image: Image | None = None
    artifacts: Artifacts | None = None
    timeout: int | None = None
    retry: RetryPolicy = NO_RETRY
    parallel: int | Matrix | None = None


def read_job(name: str, config: Field, defaults: Mapping[str, Any], entries: Entries) -> JobDraft:
    """Read one visible job; `defaults` are the entries of `default`, each copied whole where the job lacks the key."""
    _check_name(config, name)
    if not isinstance(config.value, Map):
        config.fault("should implement the script:, run:, or trigger: keyword")
        return JobDraft(name, config.place, stage="")
    config.has_keys_of(JOB)
    own = entries.read(config)
    _check_script(config, own)
    start_in = _start_in(config, own)
    if config.given("stage") and "stage" not in own:
        own["stage"] = ""
    return JobDraft(name=name, place=config.place, start_in=start_in, **{**defaults, **own})


def _check_name(config: Field, name: str) -> None:
    if not name.strip():
        config.issues.add("jobs name can't be blank", "jobs", config.place)
    if len(name) > LONGEST_NAME:
        message = f"{config.path} name is too long (maximum is {LONGEST_NAME} characters)"
        config.issues.add(message, config.path, config.place)
    if name in REFUSED_JOB_NAMES:
        config.issues.add(f"{config.path} name is reserved; choose another one", config.path, config.place)
    if name == PAGES_JOB:
        config.issues.add(f"{config.path} {not_yet(PAGES_JOB)}: rename the job", config.path, config.place)


def _check_script(config: Field, own: Mapping[str, Any]) -> None:
    assert isinstance(config.value, Map)
    keys = config.value.keys()
    if "run" in keys or "trigger" in keys:
        return  # noted as not supported yet
    if "script" in keys:
        blank = not config.given("script") or ("script" in own and not any(line.strip() for line in own["script"]))
        if blank:
            message = f"{config.path} script can't be blank"
            config.issues.add(message, f"{config.path}:script", config.value.places["script"])
    elif config.given("needs"):
        config.fault("should contain either a trigger or a needs:pipeline, or a script")
    else:
        config.fault("should implement the script:, run:, or trigger: keyword")


def _start_in(config: Field, own: Mapping[str, Any]) -> int | None:
    """Only a delayed job has a delay, and it must have one."""
    delayed = own.get("when") == When.DELAYED
    if config.given("start_in"):
        attribute = config.attribute("start_in")
        if delayed:
            return checks.duration(attribute, WEEK)
        if "when" in own or not config.given("when"):
            attribute.fault("must be blank")
    elif delayed:
        assert isinstance(config.value, Map)
        place = config.value.places["when"]
        config.issues.add(f"{config.path} start in should be a duration", f"{config.path}:when", place)
    return None
