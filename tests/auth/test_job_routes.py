"""Which calls take a job token."""

import pytest

from auth.job_routes import scope_for
from auth.job_token import Scope

PERMITTED = [
    ("GET", "/job"),
    ("GET", "/projects/7/releases"),
    ("POST", "/projects/group%2Fname/releases"),
    ("DELETE", "/projects/7/releases/rel%2F1.0"),
    ("GET", "/projects/7/environments/3"),
    ("POST", "/projects/7/environments/3/stop"),
    ("GET", "/projects/7/deployments"),
    ("GET", "/projects/7/jobs/3/artifacts"),
    ("GET", "/projects/7/jobs/3/artifacts/out/a.txt"),
    ("GET", "/projects/7/jobs/artifacts/main/download"),
    ("GET", "/projects/7/repository/branches"),
    ("HEAD", "/projects/7/repository/tags"),
    ("GET", "/projects/7/repository/commits/main"),
    ("GET", "/projects/7/repository/files/src%2Fa.py/raw"),
    ("GET", "/projects/7/merge_requests"),
    ("GET", "/projects/7/merge_requests/3"),
    ("GET", "/projects/7/secure_files"),
    ("GET", "/projects/7/secure_files/3"),
    ("GET", "/projects/7/secure_files/3/download"),
]
REFUSED = [
    ("DELETE", "/projects/7/artifacts"),
    ("POST", "/projects/7/jobs/3/artifacts/keep"),
    ("POST", "/job"),
    ("GET", "/projects/7"),
    ("GET", "/projects/7/releasesx"),
    ("GET", "/projects/7/jobs"),
    ("GET", "/projects/7/jobs/3"),
    ("GET", "/projects/7/jobs/3/trace"),
    ("POST", "/projects/7/jobs/3/play"),
    ("POST", "/projects/7/repository/branches"),
    ("GET", "/projects/7/repository/branches/main"),
    ("GET", "/projects/7/repository/commits"),
    ("GET", "/projects/7/repository/commits/main/diff"),
    ("GET", "/projects/7/repository/files/a"),
    ("PUT", "/projects/7/repository/files/a"),
    ("PUT", "/projects/7/merge_requests/3"),
    ("POST", "/projects/7/secure_files"),
    ("DELETE", "/projects/7/secure_files/3"),
    ("GET", "/projects/7/merge_requests/3/approvals"),
    ("GET", "/projects/7/variables"),
    ("GET", "/user"),
    ("POST", "/projects/7/pipeline"),
]


@pytest.mark.parametrize(("method", "path"), PERMITTED)
def test_what_gitlab_permits_is_permitted(method: str, path: str) -> None:
    expected = Scope.RELEASES if "/releases" in path else Scope.REST
    assert scope_for(method, f"/api/v4{path}") is expected


@pytest.mark.parametrize(("method", "path"), REFUSED)
def test_all_else_is_not(method: str, path: str) -> None:
    assert scope_for(method, f"/api/v4{path}") is None


def test_only_calls_of_the_rest_api_are_meant() -> None:
    assert scope_for("GET", "/job") is None
