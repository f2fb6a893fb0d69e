"""A webhook shows each event that it can be told to hear of."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest

from api.v4.representation.hooks import hook
from domain.hooks.webhooks import HookScope, bits_of, flags_of
from models.rows.hooks import HookRow

NOW: Final = datetime(2026, 1, 31, tzinfo=UTC)
HOOK: Final = HookRow(
    id=1,
    scope=HookScope.PROJECT,
    project_id=1,
    namespace_id=None,
    uuid="",
    url="https://h.example/",
    name="",
    description="",
    events=0,
    branch_filter="",
    branch_filter_strategy="wildcard",
    verify_tls=True,
    token="",
    signing_token="",
    custom_headers="",
    url_variables="",
    failures=0,
    disabled_until=None,
    created_at=NOW,
)


@pytest.mark.parametrize("scope", HookScope)
def test_each_parameter_of_a_hook_is_shown_as_it_is_stored(scope: HookScope) -> None:
    flags = flags_of(scope)
    for flag, event in flags.items():
        row = replace(HOOK, scope=scope, events=bits_of([event]))
        shown = {name: value for name, value in hook(row, (), (), NOW).items() if name in flags}
        assert shown == {name: name == flag for name in flags}
