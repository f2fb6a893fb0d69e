"""What access tokens may be used for."""

import pytest

from auth.scopes import PERMITS, Scope, Use, checked_scopes, require_scope, use_of
from domain.errors import Forbidden, Invalid


@pytest.mark.parametrize(
    ("method", "path", "use"),
    [
        ("GET", "/api/v4/projects", Use.READ_API),
        ("HEAD", "/api/v4/projects", Use.READ_API),
        ("GET", "/api/v4/user", Use.READ_SELF),
        ("GET", "/api/v4/user/", Use.READ_SELF),
        ("GET", "/api/v4/users", Use.READ_API),
        ("POST", "/api/v4/projects", Use.WRITE_API),
        ("DELETE", "/api/v4/user", Use.WRITE_API),
        ("POST", "/api/v4/user/runners", Use.CREATE_RUNNER),
        ("PUT", "/api/v4/runners/7", Use.MANAGE_RUNNER),
        ("POST", "/api/v4/personal_access_tokens/self/rotate", Use.ROTATE_SELF),
        ("POST", "/api/v4/personal_access_tokens/7/rotate", Use.WRITE_API),
    ],
)
def test_what_a_call_uses_its_token_for(method: str, path: str, use: Use) -> None:
    assert use_of(method, path) is use


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("use", list(Use))
def test_a_scope_permits_what_the_table_says(scope: Scope, use: Use) -> None:
    if use in PERMITS[scope]:
        require_scope([scope], use)
        return
    with pytest.raises(Forbidden, match="insufficient_scope") as raised:
        require_scope([scope], use)
    assert "api" in str(raised.value)


def test_no_scope_permits_nothing_and_unknown_ones_are_refused() -> None:
    with pytest.raises(Forbidden, match="no scope"):
        require_scope([], Use.READ_API)
    for wrong in ([], ["root"], ["api", "root"]):
        with pytest.raises(Invalid, match="scopes does not have a valid value"):
            checked_scopes(wrong)
    assert checked_scopes(["read_user", "api"]) == ["api", "read_user"]
