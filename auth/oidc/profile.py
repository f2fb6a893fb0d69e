"""What a provider says of a person, as far as we ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.errors import Forbidden
from settings import OidcSettings


@dataclass(frozen=True, slots=True)
class Profile:
    """A person at the provider. `email` is empty unless the provider has verified it; `is_admin` None leaves it be."""

    issuer: str
    subject: str
    username: str
    name: str
    email: str
    is_admin: bool | None


def profile_of(settings: OidcSettings, claims: Mapping[str, Any]) -> Profile:
    """The person whom these claims tell of. Raises `Forbidden` for an e-mail address of another domain."""
    email = _text(claims, "email") if claims.get("email_verified") is True else ""
    domains = {part.strip().lower() for part in settings.email_domains.split(",") if part.strip()}
    if domains and email.rpartition("@")[2].lower() not in domains:
        raise Forbidden("Only people with a verified e-mail address of certain domains may sign in here.")
    username = _text(claims, settings.username_claim)
    return Profile(
        settings.issuer,
        claims["sub"],
        username.partition("@")[0],
        _text(claims, "name") or username,
        email,
        _is_admin(settings, claims),
    )


def _is_admin(settings: OidcSettings, claims: Mapping[str, Any]) -> bool | None:
    if not settings.admin_group:
        return None
    groups = claims.get(settings.groups_claim)
    return isinstance(groups, list) and settings.admin_group in groups


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value.strip()[:255] if isinstance(value, str) and value.isprintable() else ""
