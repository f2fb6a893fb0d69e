"""What the simulation knows of a configuration: a small reading of its own, for the keywords that processing obeys.

It takes mappings as `.gitlab-ci.yml` has them, valid ones only, and imports nothing of the product.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

DEFAULT_STAGES: Final = ("build", "test", "deploy")
GLOBAL: Final = frozenset({"stages", "workflow", "default", "variables", "include"})
FAILURES_NEVER_RETRIED: Final = frozenset(
    {
        "ci_quota_exceeded",
        "no_matching_runner",
        "missing_dependency_failure",
        "forward_deployment_failure",
        "environment_creation_failure",
    }
)


@dataclass(frozen=True, slots=True)
class Retry:
    """Automatic retries; no reason and no code listed means after any failure."""

    most: int | None = None
    reasons: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()

    def most_after(self, reason: str, code: int | None) -> int:
        """How many attempts may follow the first one after a failure of this kind."""
        if reason in FAILURES_NEVER_RETRIED:
            return 0
        listed = "always" in self.reasons or reason in self.reasons or code in self.codes
        if self.most is not None and (listed or not (self.reasons or self.codes)):
            return self.most
        return 2 if reason == "scheduler_failure" else 0


@dataclass(frozen=True, slots=True)
class Job:
    """A job as configured; `needs` holds the names of those jobs that are in the pipeline, None is none at all."""

    name: str
    stage: str
    when: str = "on_success"
    allow_failure: bool = False
    allowed_codes: tuple[int, ...] = ()
    needs: tuple[str, ...] | None = None
    retry: Retry = Retry()
    group: str = ""
    interruptible: bool = False
    bridge: bool = False
    strategy: str = ""
    child: str = ""
    """The file with the configuration of the bridge's child."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A pipeline as configured: the stages that hold jobs, in order, and the jobs in order of their definition."""

    stages: tuple[str, ...]
    jobs: tuple[Job, ...]
    on_job_failure: str = "none"
    on_new_commit: str = "conservative"


def plan_of(config: Mapping[str, Any]) -> Plan:
    """Read a valid configuration as its pipeline for a push to a branch. Raises `KeyError` for a need of nothing."""
    defined = {name: body for name, body in config.items() if name not in GLOBAL and not name.startswith(".")}
    decided = {name: rule for name, body in defined.items() if (rule := _rule_of(body)) is not None}
    names = {name: _instances(name, defined[name]) for name in decided}
    jobs = tuple(
        _job(instance, defined[name], rule, names) for name, rule in decided.items() for instance in names[name]
    )
    listed = [stage for stage in config.get("stages", DEFAULT_STAGES) if stage not in {".pre", ".post"}]
    cancels = config.get("workflow", {}).get("auto_cancel", {})
    return Plan(
        tuple(stage for stage in (".pre", *listed, ".post") if any(job.stage == stage for job in jobs)),
        jobs,
        cancels.get("on_job_failure", "none"),
        cancels.get("on_new_commit", "conservative"),
    )


def _rule_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The rule that decides for a push; a rule with an `if` is one that does not hold. None: the job is left out."""
    if "rules" not in body:
        return {}
    found = next((rule for rule in body["rules"] if "if" not in rule), None)
    return None if found is None or found.get("when") == "never" else found


def _instances(name: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    total = body.get("parallel")
    return tuple(f"{name} {number}/{total}" for number in range(1, total + 1)) if total else (name,)


def _job(name: str, body: Mapping[str, Any], rule: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]) -> Job:
    allowed = rule.get("allow_failure", body.get("allow_failure", body.get("when") == "manual"))
    trigger = body.get("trigger")
    spoken = trigger if isinstance(trigger, Mapping) else {}
    return Job(
        name=name,
        stage=body.get("stage", "test"),
        when=rule.get("when", body.get("when", "on_success")),
        allow_failure=allowed is True,
        allowed_codes=_many(allowed["exit_codes"]) if isinstance(allowed, Mapping) else (),
        needs=_needs(body["needs"], names) if "needs" in body else None,
        retry=_retry(body.get("retry")),
        group=body.get("resource_group", ""),
        interruptible=body.get("interruptible", False),
        bridge=trigger is not None,
        strategy=spoken.get("strategy", ""),
        child=spoken.get("include", ""),
    )


def _needs(needs: list[Any], names: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Every instance of each need; an optional one that is left out disappears."""
    everyone = {instance for instances in names.values() for instance in instances}
    found: dict[str, None] = {}
    for need in needs:
        name = need if isinstance(need, str) else need["job"]
        optional = not isinstance(need, str) and need.get("optional", False)
        if name not in names and name not in everyone and not optional:
            raise KeyError(f"no job {name} in the pipeline")
        found |= dict.fromkeys(names.get(name, (name,) if name in everyone else ()))
    return tuple(found)


def _retry(value: Any) -> Retry:
    if value is None or isinstance(value, int):
        return Retry(value)
    return Retry(value.get("max"), _many(value.get("when", ())), _many(value.get("exit_codes", ())))


def _many(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)
