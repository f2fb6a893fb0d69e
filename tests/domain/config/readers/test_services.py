"""`services`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.plan import Image, Service, Variable
from domain.config.readers.services import read_services
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "services"),
    [
        ("[]", ()),
        ("[redis, 'postgres:16']", (Service(Image("redis")), Service(Image("postgres:16")))),
        ("[{name: redis, alias: 'a, b'}]", (Service(Image("redis"), alias="a, b"),)),
        ("[{name: r, entrypoint: [e], command: [c, d]}]", (Service(Image("r", ("e",)), command=("c", "d")),)),
        ("[{name: r, command: c}]", (Service(Image("r"), command=("c",)),)),
        (
            "[{name: r, variables: {A: 1, B: $C}}]",
            (Service(Image("r"), variables={"A": Variable("1"), "B": Variable("$C")}),),
        ),
        (
            "[{name: r, pull_policy: [always, never], docker: {platform: arm64}}]",
            (Service(Image("r", pull_policy=("always", "never"), docker={"platform": "arm64"})),),
        ),
        ("[{name: r, alias: null, variables: null}]", (Service(Image("r")),)),
    ],
)
def test_given(text: str, services: tuple[Service, ...]) -> None:
    assert given(read_services, "services", text) == services


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("redis", 1, "services", "services config should be a array; write a list of images"),
        ("[a,\n 1]", 2, "services:service", "services:service config should be a hash or a string"),
        ("[a,\n ' ']", 2, "services:service", "services:service config can't be blank"),
        ("[a,\n {alias: b}]", 2, "services:service", "services:service name can't be blank"),
        (
            "[{name: a,\n comand: b}]",
            2,
            "services:service",
            "services:service config contains unknown keys: comand; did you mean `command`?",
        ),
        ("[{name: 1}]", 1, "services:service:name", "services:service name should be a string"),
        ("[{name: a, alias: ''}]", 1, "services:service:alias", "services:service alias can't be blank"),
        ("[{name: a, alias: [b]}]", 1, "services:service:alias", "services:service alias should be a string"),
        (
            "[{name: a, entrypoint: b}]",
            1,
            "services:service:entrypoint",
            "services:service entrypoint should be an array of strings",
        ),
        (
            "[{name: a,\n command: 7}]",
            2,
            "services:service:command",
            "services:service:command config should be a string or a nested array of strings up to 10 levels deep",
        ),
        (
            "[{name: a, variables: [b]}]",
            1,
            "services:service:variables",
            "services:service:variables config should be a hash",
        ),
        (
            "[{name: a, pull_policy: maybe}]",
            1,
            "services:service:pull_policy",
            "services:service:pull_policy config unknown value: maybe",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_services, "services", text) == [(line, path, message)]
