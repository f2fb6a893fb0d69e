"""What a job needs of its runner: a runner that cannot do it would leave it out and report a success.

Source: docs/reference/runner-protocol.md, "Runner info". `multi_build_steps` is needed by nothing: the server makes
releases itself.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

Plan = Mapping[str, Any]
"""A job's plan as it is stored (`domain.config.plan.JobPlan` as JSON).

Of an attempt that begins at a step it has `steps_resume` besides, as the payload does.
"""

MERGE_REQUEST_REFS: Final = "refs/merge-requests/"


class Requirement(NamedTuple):
    """What makes a job need a feature, in words and as a question about its plan and its pipeline's ref.

    `must_be_told`: a runner without the feature does nothing of it and reports a success, so that a runner that says
    nothing of features is not believed to have it.
    """

    words: str
    arises: Callable[[Plan, str], bool]
    must_be_told: bool = False


def _artifacts(plan: Plan) -> Mapping[str, Any]:
    return plan.get("artifacts") or {}


REQUIREMENTS: Final[Mapping[str, Requirement]] = {
    "upload_multiple_artifacts": Requirement(
        "artifacts:reports",
        lambda plan, _: bool(_artifacts(plan).get("reports") or _artifacts(plan).get("coverage_report")),
    ),
    "artifacts_exclude": Requirement("artifacts:exclude", lambda plan, _: bool(_artifacts(plan).get("exclude"))),
    "return_exit_code": Requirement(
        "allow_failure:exit_codes or retry:exit_codes",
        lambda plan, _: bool(plan.get("allow_failure_exit_codes") or (plan.get("retry") or {}).get("exit_codes")),
    ),
    "fallback_cache_keys": Requirement(
        "cache:fallback_keys",
        lambda plan, _: any(cache.get("fallback_keys") for cache in plan.get("cache") or ()),
    ),
    "refspecs": Requirement("the ref of a merge request", lambda _, ref: ref.startswith(MERGE_REQUEST_REFS)),
    "vault_secrets": Requirement("secrets", lambda plan, _: bool(plan.get("secrets")), must_be_told=True),
    "native_steps_integration": Requirement("run", lambda plan, _: bool(plan.get("run")), must_be_told=True),
    "steps_resume": Requirement(
        "a retry that begins at a step", lambda plan, _: bool(plan.get("steps_resume")), must_be_told=True
    ),
    "job_inputs": Requirement("inputs", lambda plan, _: bool(plan.get("inputs"))),
}
"""Features by the name that runners give them."""
_MOOT_WITHOUT: Final[Mapping[str, str]] = {"fallback_cache_keys": "cache"}
"""A feature of a feature: a runner without any cache does all that a job can ask of a cache, which is never needed."""


def unmet_requirements(plan: Plan, ref: str, features: frozenset[str] | None) -> tuple[str, ...]:
    """What the job needs and the runner does not have, in words.

    A runner that names no features at all, which is `None`, lacks only what must be told.
    """
    return tuple(
        f"{feature} (for {requirement.words})"
        for feature, requirement in REQUIREMENTS.items()
        if _may_lack(feature, requirement, features) and requirement.arises(plan, ref)
    )


def _may_lack(feature: str, requirement: Requirement, features: frozenset[str] | None) -> bool:
    if features is None:
        return requirement.must_be_told
    return feature not in features and _MOOT_WITHOUT.get(feature, feature) in features | {feature}


def named_features(info: Any) -> frozenset[str] | None:
    """The features that a runner's `info` says yes to; None when it says nothing of features."""
    features = info.get("features") if isinstance(info, Mapping) else None
    if not isinstance(features, Mapping):
        return None
    return frozenset(name for name, has in features.items() if has is True)
