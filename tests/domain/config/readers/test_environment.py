"""`environment`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.plan import Environment
from domain.config.readers.environment import ACTIONS, TIERS, read_environment
from tests.domain.config.reading.fields import given, refused

NAME = (
    "environment name can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, "
    "but it cannot start or end with '/'"
)


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("production", Environment("production")),
        ("review/$CI_COMMIT_REF_SLUG", Environment("review/$CI_COMMIT_REF_SLUG")),
        ("'a-b_c/${D} e.f'", Environment("a-b_c/${D} e.f")),
        ("{name: p, url: 'https://$HOST/'}", Environment("p", url="https://$HOST/")),
        ("{name: p, on_stop: halt, auto_stop_in: 2 days}", Environment("p", on_stop="halt", auto_stop_in="2 days")),
        ("{name: p, auto_stop_in: never}", Environment("p", auto_stop_in="never")),
        ("{name: p, auto_stop_in: $LIFETIME}", Environment("p", auto_stop_in="$LIFETIME")),
        ("{name: p, url: null, kubernetes: null}", Environment("p")),
        *((f"{{name: p, action: {action}}}", Environment("p", action=action)) for action in ACTIONS),
        *((f"{{name: p, deployment_tier: {tier}}}", Environment("p", deployment_tier=tier)) for tier in TIERS),
        ("{name: p, kubernetes: {namespace: n}}", Environment("p", kubernetes={"namespace": "n"})),
        (
            "{name: p, kubernetes: {agent: g/p:a, managed_resources: {enabled: true}}}",
            Environment("p", kubernetes={"agent": "g/p:a", "managed_resources": {"enabled": True}}),
        ),
        (
            "{name: p, kubernetes: {agent: a, dashboard: {namespace: n, flux_resource_path: f}}}",
            Environment("p", kubernetes={"agent": "a", "dashboard": {"namespace": "n", "flux_resource_path": "f"}}),
        ),
    ],
)
def test_given(text: str, environment: Environment) -> None:
    assert given(read_environment, "environment", text) == environment


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("[a]", 1, "environment", "environment config should be a hash or a string"),
        ("''", 1, "environment", "environment name can't be blank"),
        ("a/", 1, "environment", NAME),
        ("{url: a}", 1, "environment", "environment name can't be blank"),
        ("{\n name: ' '}", 2, "environment:name", "environment name can't be blank"),
        ("{name: 1}", 1, "environment:name", NAME),
        ("{name: a+b}", 1, "environment:name", NAME),
        ("{name: /a}", 1, "environment:name", NAME),
        ("{name: é}", 1, "environment:name", NAME),
        ('{name: "a\\n"}', 1, "environment:name", NAME),
        ("{name: a, uri: b}", 1, "environment", "environment config contains unknown keys: uri"),
        ("{name: a,\n url: [b]}", 2, "environment:url", "environment url should be a string"),
        (
            f"{{name: a, url: {'u' * 256}}}",
            1,
            "environment:url",
            "environment url is too long (maximum is 255 characters)",
        ),
        (
            "{name: a, action: starts}",
            1,
            "environment:action",
            "environment action should be start, stop, prepare, verify, or access; did you mean `start`?",
        ),
        (
            "{name: a, action: 1}",
            1,
            "environment:action",
            "environment action should be a string; should be start, stop, prepare, verify, or access",
        ),
        ("{name: a, on_stop: [b]}", 1, "environment:on_stop", "environment on stop should be a string"),
        ("{name: a, auto_stop_in: 60}", 1, "environment:auto_stop_in", "environment auto stop in should be a string"),
        (
            "{name: a, deployment_tier: prod}",
            1,
            "environment:deployment_tier",
            "environment deployment tier should be one of: production, staging, testing, development, other",
        ),
        ("{name: a, kubernetes: b}", 1, "environment:kubernetes", "environment:kubernetes config should be a hash"),
        ("{name: a, kubernetes: {}}", 1, "environment:kubernetes", "environment:kubernetes config can't be blank"),
        (
            "{name: a, kubernetes: {\n agents: b}}",
            2,
            "environment:kubernetes",
            "environment:kubernetes config contains unknown keys: agents; did you mean `agent`?",
        ),
        (
            "{name: a, kubernetes: {namespace: [n]}}",
            1,
            "environment:kubernetes:namespace",
            "environment:kubernetes namespace should be a string",
        ),
        (
            "{name: a, kubernetes: {agent: b, flux_resource_path: f}}",
            1,
            "environment:kubernetes",
            "environment:kubernetes namespace can't be blank",
        ),
        (
            "{name: a, kubernetes: {dashboard: {namespace: n}}}",
            1,
            "environment:kubernetes",
            "environment:kubernetes agent can't be blank",
        ),
        (
            "{name: a, kubernetes: {managed_resources: {enabled: true}}}",
            1,
            "environment:kubernetes",
            "environment:kubernetes agent can't be blank",
        ),
        (
            "{name: a, kubernetes: {agent: b, dashboard: {flux_resource_path: f}}}",
            1,
            "environment:kubernetes:dashboard",
            "environment:kubernetes:dashboard namespace can't be blank",
        ),
        (
            "{name: a, kubernetes: {agent: b,\n namespace: n, dashboard: {namespace: m}}}",
            2,
            "environment:kubernetes:namespace",
            "environment:kubernetes namespace cannot be specified when dashboard.namespace is set",
        ),
        (
            "{name: a, kubernetes: {managed_resources: {enabled: a}}}",
            1,
            "environment:kubernetes:managed_resources:enabled",
            "environment:kubernetes:managed_resources enabled should be a boolean value",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_environment, "environment", text) == [(line, path, message)]
