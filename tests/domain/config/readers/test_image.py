"""`image`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.plan import Image
from domain.config.readers.image import read_image
from tests.domain.config.reading.fields import given, refused


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("alpine", Image("alpine")),
        ("{name: alpine}", Image("alpine")),
        ("{name: a, entrypoint: ['']}", Image("a", entrypoint=("",))),
        ("{name: a, pull_policy: if-not-present}", Image("a", pull_policy=("if-not-present",))),
        ("{name: a, pull_policy: [always, never]}", Image("a", pull_policy=("always", "never"))),
        (
            "{name: a, docker: {platform: arm64/v8, user: 1000}}",
            Image("a", docker={"platform": "arm64/v8", "user": "1000"}),
        ),
        ("{name: a, kubernetes: {user: '1:2'}}", Image("a", kubernetes={"user": "1:2"})),
        ("{name: a, docker: {user: null}, kubernetes: null}", Image("a")),
    ],
)
def test_given(text: str, image: Image) -> None:
    assert given(read_image, "image", text) == image


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("[a]", 1, "image", "image config should be a hash or a string"),
        ("''", 1, "image", "image config can't be blank"),
        ("{entrypoint: [a]}", 1, "image", "image name can't be blank"),
        ("{\n name: ' '}", 2, "image:name", "image name can't be blank"),
        ("{name: [a]}", 1, "image:name", "image name should be a string"),
        (
            "{name: a,\n entrypoints: []}",
            2,
            "image",
            "image config contains unknown keys: entrypoints; did you mean `entrypoint`?",
        ),
        ("{name: a, ports: [80]}", 1, "image", "image config contains unknown keys: ports"),
        ("{name: a, entrypoint: b}", 1, "image:entrypoint", "image entrypoint should be an array of strings"),
        (
            "{name: a,\n pull_policy: allways}",
            2,
            "image:pull_policy",
            "image:pull_policy config unknown value: allways; did you mean `always`?",
        ),
        (
            "{name: a, pull_policy: [always, no, nope]}",
            1,
            "image:pull_policy",
            "image:pull_policy config should be an array of strings or a string",
        ),
        (
            "{name: a, pull_policy: [always, nope]}",
            1,
            "image:pull_policy",
            "image:pull_policy config contains unknown values: nope",
        ),
        ("{name: a, pull_policy: []}", 1, "image:pull_policy", "image:pull_policy config can't be blank"),
        ("{name: a, docker: b}", 1, "image:docker", "image:docker config should be a hash"),
        ("{name: a, docker: {\n gpu: 1}}", 2, "image:docker", "image:docker config contains unknown keys: gpu"),
        ("{name: a, docker: {user: [b]}}", 1, "image:docker:user", "image:docker user should be a string"),
        (
            f"{{name: a, docker: {{platform: {'p' * 65}}}}}",
            1,
            "image:docker:platform",
            "image:docker platform is too long (maximum is 64 characters)",
        ),
        (
            "{name: a, kubernetes: {platform: b}}",
            1,
            "image:kubernetes",
            "image:kubernetes config contains unknown keys: platform",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_image, "image", text) == [(line, path, message)]
