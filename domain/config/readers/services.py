"""`services`: containers beside the one of the job. Source: docs/reference/ci-yaml.md, "Job keywords"."""

from collections.abc import Iterator

from domain.config.keywords import SERVICE
from domain.config.plan import Service
from domain.config.readers.image import read_image_keys, read_image_name
from domain.config.readers.variables import read_variables
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map


def read_services(field: Field) -> tuple[Service, ...] | None:
    """A list of names and mappings; lists within it, as references put them there, are flattened."""
    if isinstance(field.value, Items):
        return tuple(_readable(field))
    field.fault("should be a array; write a list of images")  # the article is GitLab's
    return None


def _readable(field: Field) -> Iterator[Service]:
    path = f"{field.path}:service"
    for element in checks.flattened_elements(field) or ():
        service = _service(Field(element.value, path, f"{path} config", element.place, field.issues))
        if service is not None:
            yield service


def _service(field: Field) -> Service | None:
    if not isinstance(field.value, Map):
        image = read_image_name(field)
        return None if image is None else Service(image)
    field.has_keys_of(SERVICE)
    variables = read_variables(field.entry("variables"), frozenset()) if field.given("variables") else None
    return Service(
        image=read_image_keys(field),
        alias=(checks.filled_text(field.attribute("alias")) if field.given("alias") else None) or "",
        command=(checks.commands(field.entry("command")) if field.given("command") else None) or (),
        variables=variables or {},
    )
