"""Secrets that the runner fetches itself: where each one is, and how the runner shows its provider who it is.

The configuration says where a secret is; which server keeps it, and by which token of the job it is asked for, stands
in variables. Source: docs/reference/ci-yaml.md, "Secrets and tokens"; docs/reference/runner-protocol.md, "Job
document".
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from application.jobs.variables import expanded_text
from domain.variables.job_variables import JobVariable

_SERVERS: Final[Mapping[str, Mapping[str, str]]] = {
    "gcp_secret_manager": {
        "project_number": "GCP_PROJECT_NUMBER",
        "workload_identity_federation_pool_id": "GCP_WORKLOAD_IDENTITY_FEDERATION_POOL_ID",
        "workload_identity_federation_provider_id": "GCP_WORKLOAD_IDENTITY_FEDERATION_PROVIDER_ID",
    },
    "azure_key_vault": {
        "url": "AZURE_KEY_VAULT_SERVER_URL",
        "client_id": "AZURE_CLIENT_ID",
        "tenant_id": "AZURE_TENANT_ID",
    },
    "aws_secrets_manager": {"region": "AWS_REGION", "role_arn": "AWS_ROLE_ARN"},
}
"""Providers whose server is a flat object: its fields, and the variables that hold them."""
_VAULT: Final = "vault"


def secrets(documents: Mapping[str, Mapping[str, Any]], variables: Iterable[JobVariable]) -> dict[str, Any]:
    """Every secret by the name of its variable; the runner puts the value there, or into a file."""
    known = tuple(variables)
    return {name: _secret(document, known) for name, document in documents.items()}


def _secret(document: Mapping[str, Any], variables: tuple[JobVariable, ...]) -> dict[str, Any]:
    token = expanded_text(document.get("token", ""), variables)
    values = {item.key: item.value for item in variables}
    places = {key: place for key, place in document.items() if key not in {"file", "token"}}
    found = {
        provider: {
            **{key: _expanded(part, variables) for key, part in place.items()},
            **_server(provider, values, token),
        }
        for provider, place in places.items()
    }
    return {**found, "file": document.get("file", True)}


def _expanded(part: Any, variables: tuple[JobVariable, ...]) -> Any:
    if isinstance(part, Mapping):
        return {key: _expanded(value, variables) for key, value in part.items()}
    return expanded_text(part, variables)


def _server(provider: str, values: Mapping[str, str], token: str) -> dict[str, Any]:
    """Who keeps the secret, for providers that are not this server itself."""
    if provider == _VAULT:
        data = {"jwt": token, "role": values.get("VAULT_AUTH_ROLE", "")}
        return {
            "server": {
                "url": values.get("VAULT_SERVER_URL", ""),
                "namespace": values.get("VAULT_NAMESPACE", ""),
                "auth": {"name": "jwt", "path": values.get("VAULT_AUTH_PATH", "jwt"), "data": data},
            }
        }
    if provider not in _SERVERS:
        return {}
    fields = {field: values.get(variable, "") for field, variable in _SERVERS[provider].items()}
    return {"server": {**fields, "jwt": token}}
