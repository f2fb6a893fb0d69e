"""`id_tokens`: signed tokens by which a job identifies itself elsewhere.

Source: docs/reference/ci-yaml.md, "Secrets and tokens".
"""

from collections.abc import Mapping

from domain.config.keywords import ID_TOKEN
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Map


def read_id_tokens(field: Field) -> Mapping[str, tuple[str, ...]] | None:
    """For whom each token is, by the name of the variable that holds it."""
    if not isinstance(field.value, Map):
        field.fault("should be a hash")
        return None
    found = {name: _audience(field.entry(name)) for name in field.value}
    return {name: audience for name, audience in found.items() if audience is not None}


def _audience(field: Field) -> tuple[str, ...] | None:
    if not field.has_keys_of(ID_TOKEN) or field.missing("aud"):
        return None
    audience = checks.strings_or_string(field.attribute("aud"))
    if audience is not None and not all(name.strip() for name in audience or ("",)):
        field.attribute("aud").fault("can't be blank")
    return audience
