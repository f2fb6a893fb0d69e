"""Which calls of the REST API a job may make with its token, and the scope that the token needs for them.

Source of the rules: GitLab's documentation "CI/CD job token", section "Job token access", as far as we have the routes.
What starts pipelines of other projects is not here: it takes its token as a parameter
(`api.v4.pipelines.trigger_calls`).
"""

import re
from typing import Final

from auth.job_token import Scope

_READS: Final = frozenset({"GET", "HEAD"})
_ALL: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_PROJECT: Final = "/projects/[^/]+"


def _route(
    methods: frozenset[str], rest: str, scope: Scope = Scope.REST
) -> tuple[frozenset[str], re.Pattern[str], Scope]:
    return methods, re.compile(f"/api/v4{rest}"), scope


_ROUTES: Final = (
    _route(_READS, "/job"),
    _route(_ALL, f"{_PROJECT}/releases(/.*)?", Scope.RELEASES),
    _route(_ALL, f"{_PROJECT}/environments(/.*)?"),
    _route(_ALL, f"{_PROJECT}/deployments(/.*)?"),
    _route(_READS, rf"{_PROJECT}/jobs/\d+/artifacts(/.*)?"),
    _route(_READS, f"{_PROJECT}/jobs/artifacts/.+"),
    _route(_READS, f"{_PROJECT}/repository/branches"),
    _route(_READS, f"{_PROJECT}/repository/tags"),
    _route(_READS, f"{_PROJECT}/repository/commits/[^/]+"),
    _route(_READS, f"{_PROJECT}/repository/files/.+/raw"),
    _route(_READS, rf"{_PROJECT}/merge_requests(/\d+)?"),
    _route(_READS, rf"{_PROJECT}/secure_files(/\d+(/download)?)?"),
)


def scope_for(method: str, path: str) -> Scope | None:
    """The scope that a job token needs for a call; None where no job token is taken.

    The path is the one that is routed: what a segment holds is still encoded.
    """
    for methods, pattern, scope in _ROUTES:
        if method in methods and pattern.fullmatch(path):
            return scope
    return None
