"""One job as it is written: every keyword read, nothing yet looked up in other jobs.

Source: docs/reference/ci-yaml.md, "Job keywords".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from domain.config.entries import Entries
from domain.config.keywords import BRIDGE, JOB, PAGES_JOB, REFUSED_JOB_NAMES
from domain.config.plan import (
    NO_RETRY,
    Artifacts,
    Cache,
    Document,
    Environment,
    Image,
    Pages,
    RetryPolicy,
    Service,
    Trigger,
    Variable,
    When,
)
from domain.config.readers.inherit import Inherit
from domain.config.readers.needs import MAX_NAME, DependencyEntry, Needs
from domain.config.readers.parallel import Matrix
from domain.config.readers.recovery import AllowFailure
from domain.config.reading import checks
from domain.config.reading.durations import WEEK
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map, Place, Value
from domain.config.rules.filters import Filter
from domain.config.rules.rules import Rule

DEFAULT_STAGE: Final = "test"
BRIDGE_WHEN: Final = ("on_success", "on_failure", "always", "manual")
"""Values of `when` for a job that triggers a pipeline."""
_DELAY_ADVICE: Final = {
    False: "`when: delayed` needs `start_in`",
    True: "with `rules`, write `when: delayed` and `start_in` into the items of `rules`",
}
"""What to do about a delay that is missing, without and with `rules`."""
SCRIPT_DEFAULTS: Final = frozenset({"before_script", "after_script"})
"""Defaults that say nothing to a job with `run`."""


@dataclass(frozen=True, slots=True)
class JobDraft:
    """A job with the keywords it was given or took from `default`; `place` is where its name stands.

    `places` are those of its keywords. `stage` is None if it could not be read. Names follow the keywords, and
    `excepted` is `except`.
    """

    name: str
    place: Place
    places: Mapping[str, Place] = field(default_factory=dict)
    stage: str | None = DEFAULT_STAGE
    script: tuple[str, ...] = ()
    before_script: tuple[str, ...] = ()
    after_script: tuple[str, ...] = ()
    run: tuple[Document, ...] = ()
    trigger: Trigger | None = None
    when: str = When.ON_SUCCESS
    start_in: int | None = None
    allow_failure: AllowFailure | None = None
    needs: Needs | None = None
    dependencies: tuple[DependencyEntry, ...] | None = None
    rules: tuple[Rule, ...] | None = None
    only: Filter | None = None
    excepted: Filter | None = None
    inherit: Inherit | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    image: Image | None = None
    services: tuple[Service, ...] = ()
    cache: tuple[Cache, ...] = ()
    artifacts: Artifacts | None = None
    timeout: int | None = None
    retry: RetryPolicy = NO_RETRY
    parallel: int | Matrix | None = None
    environment: Environment | None = None
    resource_group: str = ""
    interruptible: bool | None = None
    coverage: str = ""
    manual_confirmation: str = ""
    release: Document = field(default_factory=dict)
    pages: Pages | bool | None = None
    publish: str = ""
    hooks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    id_tokens: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    secrets: Mapping[str, Document] = field(default_factory=dict)
    identity: str = ""
    dast_configuration: Document = field(default_factory=dict)
    inputs: Mapping[str, Document] = field(default_factory=dict)


def read_job(name: str, config: Field, defaults: Mapping[str, Any], entries: Entries) -> JobDraft:
    """Read one visible job; `defaults` are the entries of `default`, each copied whole where the job lacks the key."""
    _check_name(config, name)
    if not isinstance(config.value, Map):
        config.fault("should implement the script:, run:, or trigger: keyword")
        return JobDraft(name, config.place, stage=None)
    is_bridge = _is_bridge(config)
    config.has_keys_of(BRIDGE if is_bridge else JOB)
    own = entries.read(config)
    (_check_bridge if is_bridge else _check_script)(config, own)
    _check_rules(config)
    own["start_in"] = _start_in(config, own)
    if config.given("stage") and "stage" not in own:
        own["stage"] = None
    if "except" in own:
        own["excepted"] = own.pop("except")
    inherited = _inherited(config, defaults, own.get("inherit"), is_bridge=is_bridge)
    return JobDraft(name=name, place=config.place, places=config.value.places, **{**inherited, **own})


def _check_name(config: Field, name: str) -> None:
    if not name.strip():
        config.issues.add("jobs name can't be blank", "jobs", config.place)
    if len(name) > MAX_NAME:
        message = f"{config.path} name is too long (maximum is {MAX_NAME} characters)"
        config.issues.add(message, config.path, config.place)
    if name in REFUSED_JOB_NAMES:
        config.issues.add(f"{config.path} name is reserved; choose another one", config.path, config.place)


def _is_bridge(config: Field) -> bool:
    """A job that triggers a pipeline, or follows one by `needs: {pipeline: ...}` and runs nothing."""
    assert isinstance(config.value, Map)
    keys = config.value.keys()
    if "script" in keys or "run" in keys:
        return False
    return "trigger" in keys or _mirrors(config.value.get("needs"))


def _mirrors(needs: Value) -> bool:
    """Whether the needs are those of a job that only follows another pipeline."""
    first = needs[0] if isinstance(needs, Items) and needs else needs
    return isinstance(first, Map) and "pipeline" in first and "job" not in first


def _check_bridge(config: Field, own: dict[str, Any]) -> None:
    """Some keywords permit less than in a job that runs commands."""
    assert isinstance(config.value, Map)
    if "trigger" in config.value and not config.given("trigger"):
        place = config.value.places["trigger"]
        config.issues.add(f"{config.path}:trigger config can't be blank", f"{config.path}:trigger", place)
    if own.get("when") == When.DELAYED:
        config.attribute("when").fault(f"should be one of: {', '.join(BRIDGE_WHEN)}")
    if isinstance(config.value.get("allow_failure"), Map):
        config.attribute("allow_failure").fault("should be a boolean value")
    if isinstance(own.get("parallel"), int):
        config.entry("parallel").fault('cannot use "parallel: <number>"; write `parallel: {matrix: [...]}`')
    mirrored, crossing = _foreign_kinds(own)
    if "trigger" in own and mirrored:
        config.fault("should contain either a trigger or a needs:pipeline")
    if crossing:
        config.entry("needs").fault("uses invalid types: cross_dependency; a trigger job downloads no artifacts")


def _foreign_kinds(own: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether the needs mirror a pipeline, and whether they take artifacts from elsewhere."""
    foreign = own["needs"].foreign if "needs" in own else ()
    return any(not entry.need.job for entry in foreign), any(entry.need.job for entry in foreign)


def _check_script(config: Field, own: dict[str, Any]) -> None:
    """A job has either commands or steps, and no other kind of work beside them."""
    assert isinstance(config.value, Map)
    keys = config.value.keys()
    if _foreign_kinds(own)[0]:
        config.entry("needs").fault("uses invalid types: bridge; only a job without a script mirrors a pipeline")
    if "trigger" in keys:
        config.together("script", "run", "trigger")
    if "run" in keys:
        for other in ("script", "before_script", "after_script"):
            config.together("run", other)
        return
    if "script" in keys:
        if _is_blank_script(config.value["script"]) or own.get("script") == ():
            message = f"{config.path} script can't be blank"
            config.issues.add(message, f"{config.path}:script", config.value.places["script"])
    elif config.given("needs"):
        config.fault("should contain either a trigger or a needs:pipeline, or a script")
    else:
        config.fault("should implement the script:, run:, or trigger: keyword")
    if config.given("publish") and not _publishes(config):
        config.attribute("publish").fault("can only be used within a `pages` job")
    if config.given("publish") and isinstance(own.get("pages"), Pages) and config.entry("pages").given("publish"):
        config.attribute("publish").fault("cannot be used together with `pages:publish`; keep the latter")


def _is_blank_script(script: Value) -> bool:
    """Whether a script is none; a list with an empty line is one."""
    return script is None or (isinstance(script, str) and not script.strip())


def _publishes(config: Field) -> bool:
    assert isinstance(config.value, Map)
    pages = config.value.get("pages")
    return pages is True or isinstance(pages, Map) or (pages is None and config.path == f"jobs:{PAGES_JOB}")


def _check_rules(config: Field) -> None:
    """`rules` takes the place of older keywords."""
    if not config.given("rules"):
        return
    assert isinstance(config.value, Map)
    others = [key for key in ("only", "except", "start_in") if config.given(key)]
    if others:
        message = f"{config.label} key may not be used with `rules`: {', '.join(others)}"
        config.issues.add(message, config.path, config.value.places[others[0]])


def _start_in(config: Field, own: Mapping[str, Any]) -> int | None:
    """Only a delayed job has a delay, and it must have one."""
    delayed = own.get("when") == When.DELAYED
    if config.given("trigger") or (config.given("rules") and (config.given("start_in") or not delayed)):
        return None
    if config.given("start_in"):
        attribute = config.attribute("start_in")
        if delayed:
            return checks.duration(attribute, WEEK)
        if "when" in own or not config.given("when"):
            attribute.fault("must be blank")
    elif delayed:
        assert isinstance(config.value, Map)
        place = config.value.places["when"]
        message = f"{config.path} start in should be a duration; {_DELAY_ADVICE[config.given('rules')]}"
        config.issues.add(message, f"{config.path}:when", place)
    return None


def _inherited(
    config: Field, defaults: Mapping[str, Any], inherit: Inherit | None, *, is_bridge: bool
) -> Mapping[str, Any]:
    """The defaults that the job takes; a null of its own does not keep one away.

    Source: docs/reference/ci-yaml.md, "Global keywords".
    """
    assert isinstance(config.value, Map)
    kept = inherit.default if inherit else True
    if not defaults or kept is False:
        return {}
    own = config.value.keys()
    if kept is True and not is_bridge and "run" not in own:
        return defaults
    dropped = SCRIPT_DEFAULTS if "run" in own else frozenset[str]()
    return {
        key: value
        for key, value in defaults.items()
        if (kept is True or key in kept) and key not in dropped and (not is_bridge or key in BRIDGE)
    }
