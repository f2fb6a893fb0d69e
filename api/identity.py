"""What others need to verify the tokens of jobs (`id_tokens`): OpenID Connect's discovery and our public keys."""

import asyncio
from typing import Any, Final

from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.routes import RouteList
from api.runner.payloads.id_tokens import CLAIMS
from auth.key_certificates import published
from auth.key_ring import KeyRing

router = RouteList()

_KEYS: Final = "/oauth/discovery/keys"
_MAY_BE_KEPT: Final = {"Cache-Control": "public, max-age=3600"}
"""A new key is listed long before it signs (`identity_key_lead`), and an old one as long as its tokens live."""


@router.get("/.well-known/openid-configuration")
async def configuration(services: ServicesDep) -> JSONResponse:
    """Who issues the tokens, and where the keys are."""
    document: dict[str, Any] = {
        "issuer": services.settings.url,
        "jwks_uri": services.settings.url + _KEYS,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [str(services.identity_keys.algorithm)],
        "scopes_supported": ["openid"],
        "claims_supported": list(CLAIMS),
    }
    return JSONResponse(document, headers=_MAY_BE_KEPT)


@router.get(_KEYS)
@router.get("/-/jwks")
async def keys(services: ServicesDep) -> JSONResponse:
    """Every public key whose tokens are good, and the one that will sign next, each with a certificate (`x5c`)."""
    # The first use makes a key, which takes a while.
    found = await asyncio.to_thread(_published, services.identity_keys)
    return JSONResponse({"keys": found}, headers=_MAY_BE_KEPT)


def _published(ring: KeyRing) -> list[dict[str, Any]]:
    return [published(held.key) for held in ring.held()]
