"""`pages`: a job that publishes a site. Source: docs/reference/ci-yaml.md, "Global keywords", "Job keywords"."""

from domain.config.keywords import PAGES
from domain.config.plan import Pages
from domain.config.readers.artifacts import read_expiry
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Map


def read_pages(field: Field) -> Pages | bool | None:
    """Whether the job publishes, or a mapping of what and where."""
    if isinstance(field.value, bool):
        return field.value
    if not isinstance(field.value, Map):
        field.fault("should be a hash or a boolean value")
        return None
    field.has_keys_of(PAGES)
    return Pages(
        publish=checks.optional_text(field, "publish") or Pages().publish,
        path_prefix=checks.optional_text(field, "path_prefix"),
        expire_in=_expire_in(field.attribute("expire_in")) if field.given("expire_in") else "",
    )


def _expire_in(field: Field) -> str:
    """A duration or `never`; with a variable in it nobody knows before the job runs."""
    return field.value if isinstance(field.value, str) and "$" in field.value else read_expiry(field)
