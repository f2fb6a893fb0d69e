"""`secrets`: values that the runner fetches from a provider of secrets.

What is written in the short form is given in the long one, and defaults are filled in, as the runner takes them.

Source: docs/reference/ci-yaml.md, "Secrets and tokens".
"""

from collections.abc import Mapping
from typing import Any, Final

from domain.config.plan import Document
from domain.config.readers.variables import scalar_text
from domain.config.reading import checks
from domain.config.reading.documents import Key, Shape, read_shape
from domain.config.reading.field import Field
from domain.config.reading.tree import Map

DEFAULT_ENGINE: Final = "kv-v2"
"""Name and path of the engine of a Vault secret that names none."""
LATEST: Final = "latest"
"""The version of a Google secret that names none."""

_required: Final = Key(checks.filled_text, required=True)
_optional: Final = Key(checks.filled_text)

ENGINE: Final[Shape] = {"name": _required, "path": _required}
"""Keys of `vault:engine`."""
VAULT: Final[Shape] = {
    "engine": Key(lambda field: read_shape(field, ENGINE), required=True, nested=True),
    "path": _required,
    "field": _required,
}
"""Keys of `vault`."""
AWS: Final[Shape] = {
    "secret_id": _required,
    "version_id": _optional,
    "version_stage": _optional,
    "region": _optional,
    "role_arn": _optional,
    "role_session_name": _optional,
    "field": _optional,
}
"""Keys of `aws_secrets_manager`."""
AZURE: Final[Shape] = {"name": _required, "version": _optional}
"""Keys of `azure_key_vault`."""
GITLAB: Final[Shape] = {"name": _required, "source": _optional}
"""Keys of `gitlab_secrets_manager`."""


def read_secrets(field: Field) -> Mapping[str, Document] | None:
    """Where each secret is, by the name of the variable that holds it."""
    if not isinstance(field.value, Map):
        field.fault("should be a hash")
        return None
    found = {name: _secret(field.entry(name)) for name in field.value}
    return {name: secret for name, secret in found.items() if secret is not None}


def _secret(field: Field) -> Document | None:
    found = read_shape(field, SECRET)
    if found is None:
        return None
    if sum(field.given(provider) for provider in PROVIDERS) != 1:
        field.fault(f"must use exactly one of these keys: {', '.join(PROVIDERS)}")
    if field.given("gcp_secret_manager"):
        field.missing("token")
    return {"file": True, **found}


def _vault(field: Field) -> Document | None:
    """A mapping, or `path/field@engine`."""
    if not isinstance(field.value, str):
        return read_shape(field, VAULT)
    secret, _, engine = field.value.partition("@")
    path, _, name = secret.rpartition("/")
    if not path or not name or field.value.endswith("@"):
        field.fault("should be a hash or a string like path/field@engine")
        return None
    return {"engine": {"name": DEFAULT_ENGINE, "path": engine or DEFAULT_ENGINE}, "path": path, "field": name}


def _google_version(field: Field) -> str | None:
    version = None if isinstance(field.value, bool | float) else scalar_text(field.value)
    if version is None:
        field.fault("should be a string or an integer")
    return version


GOOGLE: Final[Shape] = {"name": _required, "version": Key(_google_version)}
"""Keys of `gcp_secret_manager`."""


def _google(field: Field) -> Document | None:
    found = read_shape(field, GOOGLE)
    return None if found is None else {"version": LATEST, **found}


def _aws(field: Field) -> Document | None:
    """A mapping, or `name#field`."""
    if not isinstance(field.value, str):
        return read_shape(field, AWS)
    secret, _, name = field.value.partition("#")
    if not secret.strip():
        field.fault("can't be blank")
        return None
    found: dict[str, Any] = {"secret_id": secret}
    return {**found, "field": name} if name else found


PROVIDERS: Final[Shape] = {
    "vault": Key(_vault, nested=True),
    "gcp_secret_manager": Key(_google, nested=True),
    "azure_key_vault": Key(lambda field: read_shape(field, AZURE), nested=True),
    "aws_secrets_manager": Key(_aws, nested=True),
    "gitlab_secrets_manager": Key(lambda field: read_shape(field, GITLAB), nested=True),
}
"""Providers; each secret names one."""
SECRET: Final[Shape] = {**PROVIDERS, "file": Key(checks.boolean), "token": _optional}
"""Keys of one secret."""
