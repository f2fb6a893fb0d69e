"""`image`: the container a job runs in. Source: docs/reference/ci-yaml.md, "Job keywords"."""

from collections.abc import Mapping
from typing import Final

from domain.config.keywords import IMAGE, IMAGE_DOCKER, IMAGE_KUBERNETES, PULL_POLICIES, Vocabulary
from domain.config.plan import Image
from domain.config.readers.variables import scalar_text
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map

MAX_OPTION: Final = {"platform": 64, "user": 255}
"""Characters of the options for executors."""


def read_image(field: Field) -> Image | None:
    """A name, or a mapping with one."""
    if isinstance(field.value, Map):
        field.has_keys_of(IMAGE)
        return read_image_keys(field)
    return read_image_name(field)


def read_image_name(field: Field) -> Image | None:
    """A name alone."""
    if isinstance(field.value, str):
        name = checks.filled_text(field)
        return None if name is None else Image(name)
    field.fault("should be a hash or a string")
    return None


def read_image_keys(field: Field) -> Image:
    """The keys of a mapping that images and services have in common."""
    return Image(
        name=checks.required_text(field, "name") or "",
        entrypoint=checks.optional_strings(field, "entrypoint"),
        pull_policy=_pull_policy(field.entry("pull_policy")) if field.given("pull_policy") else (),
        docker=_options(field.entry("docker"), IMAGE_DOCKER) if field.given("docker") else {},
        kubernetes=_options(field.entry("kubernetes"), IMAGE_KUBERNETES) if field.given("kubernetes") else {},
    )


def _pull_policy(field: Field) -> tuple[str, ...]:
    if field.value == Items():
        field.fault("can't be blank")
    return checks.known_strings(field, PULL_POLICIES) or ()


def _options(field: Field, vocabulary: Vocabulary) -> Mapping[str, str]:
    """Options for one kind of executor; `user` may be written as a number."""
    if not field.has_keys_of(vocabulary) or not isinstance(field.value, Map):
        return {}
    found = {}
    for key in sorted(vocabulary & field.value.keys()):
        text = scalar_text(field.value[key])
        if text is not None:
            found[key] = text
            if not text:
                field.attribute(key).fault("can't be blank")
            if len(text) > MAX_OPTION[key]:
                field.attribute(key).fault(f"is too long (maximum is {MAX_OPTION[key]} characters)")
        elif field.given(key):
            field.attribute(key).fault("should be a string")
    return found
