"""`image`: the container a job runs in. Reference: CI YAML, section 6."""

from collections.abc import Mapping

from domain.config import checks
from domain.config.field import Field
from domain.config.keywords import IMAGE, IMAGE_DOCKER, IMAGE_KUBERNETES, PULL_POLICIES, Vocabulary
from domain.config.plan import Image
from domain.config.tree import Map
from domain.config.variables import scalar_text


def read_image(field: Field) -> Image | None:
    """A name, or a mapping with one."""
    if isinstance(field.value, str):
        if not field.value.strip():
            field.fault("can't be blank")
        return Image(field.value)
    if not isinstance(field.value, Map):
        field.fault("should be a hash or a string")
        return None
    field.has_keys_of(IMAGE)
    return Image(
        name=_name(field),
        entrypoint=(checks.strings(field.attribute("entrypoint")) if field.given("entrypoint") else None) or (),
        pull_policy=_pull_policy(field.entry("pull_policy")) if field.given("pull_policy") else (),
        docker=_options(field.entry("docker"), IMAGE_DOCKER) if field.given("docker") else {},
        kubernetes=_options(field.entry("kubernetes"), IMAGE_KUBERNETES) if field.given("kubernetes") else {},
    )


def _name(field: Field) -> str:
    if not field.given("name"):
        field.issues.add(f"{field.path} name can't be blank", field.path, field.place)
        return ""
    return checks.text(field.attribute("name")) or ""


def _pull_policy(field: Field) -> tuple[str, ...]:
    policies = checks.strings_or_string(field) or ()
    unknown = [policy for policy in policies if policy not in PULL_POLICIES]
    if unknown and isinstance(field.value, str):
        field.fault(f"unknown value: {field.value}")
    elif unknown:
        field.fault(f"contains unknown values: {', '.join(unknown)}")
    return policies


def _options(field: Field, vocabulary: Vocabulary) -> Mapping[str, str]:
    """Options for one kind of executor; `user` may be written as a number."""
    if not field.has_keys_of(vocabulary) or not isinstance(field.value, Map):
        return {}
    found = {}
    for key, value in field.value.items():
        text = scalar_text(value)
        if text is not None:
            found[key] = text
        elif value is not None:
            field.attribute(key).fault("should be a string")
    return found
