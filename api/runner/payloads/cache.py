"""The caches of a job as its runner gets them.

The runner stores caches by key and expands the variables of a key. Keys that are named after files are text already
(`application.pipelines.cache_keys`). What is added here is whether the ref is protected, so that a job of an
unprotected branch cannot leave something behind for one of a protected branch.

Source: docs/reference/ci-yaml.md, "Cache"; docs/reference/runner-protocol.md, "Artifacts and cache", "Job document".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from application.jobs.variables import expanded_text
from domain.variables.job_variables import JobVariable

_SUFFIXES: Final = {True: "protected", False: "non_protected"}


def caches(plan: Mapping[str, Any], variables: Sequence[JobVariable], *, protected: bool) -> list[dict[str, Any]]:
    """Every cache of a job."""
    return [_cache(document, variables, protected=protected) for document in plan.get("cache", ())]


def _cache(document: Mapping[str, Any], variables: Sequence[JobVariable], *, protected: bool) -> dict[str, Any]:
    suffix = _SUFFIXES[protected and not document.get("unprotect", False)]
    return {
        "key": f"{document['key']['text']}-{suffix}",
        "untracked": document.get("untracked", False),
        "paths": list(document.get("paths", ())),
        "policy": expanded_text(document.get("policy", "pull-push"), variables),
        "when": document.get("when", "on_success"),
        "fallback_keys": [f"{key}-{suffix}" for key in document.get("fallback_keys", ())],
    }
