"""A provider: its addresses and keys, fetched and kept for a while; where people go, and what their codes are worth.

The administrator names the issuer, so the provider may be anywhere; what it says is bounded in size and time all the
same, and its addresses must be as safe as the issuer's.
"""

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx
import orjson
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from auth.oidc.id_token import UnknownKey, verified
from auth.oidc.login_attempt import LoginAttempt
from domain.errors import Unauthenticated, Unavailable
from settings import OidcSettings

CALLBACK: Final = "/users/auth/oidc/callback"
"""Our address to which a provider sends people back."""
_DISCOVERY: Final = "/.well-known/openid-configuration"
_KEPT: Final = 3600.0
"""Seconds for which addresses and keys are kept."""
_AGAIN: Final = 30.0
"""Keys are asked for again after so many seconds at the earliest, however many tokens name an unknown one."""
_MAX_RESPONSE: Final = 256 * 1024
"""Bytes of a response."""
_ADDRESSES: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(slots=True)
class _Kept:
    """A document, and when it was fetched (monotonic seconds)."""

    document: dict[str, Any] = field(default_factory=dict)
    fetched: float = -_KEPT

    def is_older_than(self, seconds: float) -> bool:
        return not self.document or time.monotonic() - self.fetched >= seconds


class Provider:
    """The provider of an installation; `callback` is our address to which it sends people back."""

    def __init__(self, settings: OidcSettings, callback: str) -> None:
        """Fetch nothing yet."""
        self._settings = settings
        self._callback = callback
        self._metadata = _Kept()
        self._keys = _Kept()
        self._fetching = asyncio.Lock()
        self._context: ssl.SSLContext | None = None

    async def authorization_address(self, attempt: LoginAttempt) -> str:
        """Where a browser goes to sign in. Raises `Unavailable`."""
        metadata = await self._discovered()
        address: str = prepare_grant_uri(
            metadata["authorization_endpoint"],
            self._settings.client_id,
            "code",
            redirect_uri=self._callback,
            scope=self._settings.scopes,
            state=attempt.state,
            nonce=attempt.nonce,
            code_challenge=create_s256_code_challenge(attempt.verifier),
            code_challenge_method="S256",
        )
        return address

    async def require_issuer(self, issuer: str | None) -> None:
        """Raise `Unauthenticated` for a response of another provider (RFC 9207)."""
        metadata = await self._discovered()
        promised = metadata.get("authorization_response_iss_parameter_supported") is True
        if issuer != self._settings.issuer and (promised or issuer is not None):
            raise Unauthenticated("The answer is not one of the provider that was asked. Sign in again.")

    async def claims(self, code: str, attempt: LoginAttempt, now: datetime) -> dict[str, Any]:
        """What the provider says of the person that a code stands for. Raises `Unauthenticated`, `Unavailable`."""
        metadata = await self._discovered()
        tokens = await self._exchanged(metadata, code, attempt)
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(id_token, str) or not isinstance(access_token, str):
            raise Unauthenticated("The provider's answer holds no id_token.")
        claims = await self._verified(id_token, access_token, attempt, now)
        missing = {"email", self._settings.username_claim} - claims.keys()
        if missing and metadata.get("userinfo_endpoint"):
            claims = {**await self._user_info(metadata["userinfo_endpoint"], access_token, claims["sub"]), **claims}
        return claims

    async def _verified(self, id_token: str, access_token: str, attempt: LoginAttempt, now: datetime) -> dict[str, Any]:
        for oldest in (_KEPT, _AGAIN):
            try:
                return verified(
                    id_token,
                    await self._known_keys(oldest),
                    issuer=self._settings.issuer,
                    client_id=self._settings.client_id,
                    nonce=attempt.nonce,
                    access_token=access_token,
                    now=now,
                )
            except UnknownKey:
                continue
        raise Unauthenticated("The provider's answer is not to be believed: it is signed with an unknown key.")

    async def _exchanged(self, metadata: Mapping[str, Any], code: str, attempt: LoginAttempt) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback,
            "code_verifier": attempt.verifier,
        }
        auth = None
        ways = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        client_id, secret = self._settings.client_id, self._settings.client_secret
        if secret and "client_secret_basic" in ways:
            auth = httpx.BasicAuth(quote(client_id, safe=""), quote(secret, safe=""))
        else:
            form |= {"client_id": client_id} | ({"client_secret": secret} if secret else {})
        status, tokens = await self._call("POST", metadata["token_endpoint"], data=form, auth=auth)
        if status != httpx.codes.OK:
            raise Unauthenticated("The provider does not accept its own answer any more. Sign in again.")
        return tokens

    async def _user_info(self, address: str, access_token: str, subject: str) -> dict[str, Any]:
        status, claims = await self._call("GET", address, headers={"Authorization": f"Bearer {access_token}"})
        if status != httpx.codes.OK or claims.get("sub") != subject:
            raise Unauthenticated("The provider's answer is not to be believed: it tells of somebody else.")
        return claims

    async def _discovered(self) -> dict[str, Any]:
        async with self._fetching:
            if self._metadata.is_older_than(_KEPT):
                document = await self._fetch(self._settings.issuer.rstrip("/") + _DISCOVERY)
                if document.get("issuer") != self._settings.issuer:
                    raise Unavailable("The provider calls itself by another name than PERDURE_OIDC_ISSUER says.", 60)
                for name in (*_ADDRESSES, "userinfo_endpoint"):
                    self._require_safe(document, name)
                self._metadata = _Kept(document, time.monotonic())
            return self._metadata.document

    async def _known_keys(self, oldest: float) -> list[Mapping[str, Any]]:
        metadata = await self._discovered()
        async with self._fetching:
            if self._keys.is_older_than(oldest):
                self._keys = _Kept(await self._fetch(metadata["jwks_uri"]), time.monotonic())
            keys = self._keys.document.get("keys")
        return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []

    def _require_safe(self, document: Mapping[str, Any], name: str) -> None:
        """Raise unless an address may be used: all of a provider with HTTPS have HTTPS."""
        address = document.get(name)
        if address is None and name not in _ADDRESSES:
            return
        scheme = urlsplit(address).scheme if isinstance(address, str) else ""
        if scheme not in {"https", urlsplit(self._settings.issuer).scheme}:
            raise Unavailable(f"The provider's {name} is no safe address.", 60)

    async def _fetch(self, address: str) -> dict[str, Any]:
        status, document = await self._call("GET", address)
        if status != httpx.codes.OK:
            raise Unavailable(f"The sign-in provider answers {status} to {address}.", 60)
        return document

    async def _call(self, method: str, address: str, **more: Any) -> tuple[int, dict[str, Any]]:
        """One call: its status, and the JSON object it was answered with; an empty one for anything else."""
        if self._context is None:
            self._context = await asyncio.to_thread(ssl.create_default_context)
        limit = self._settings.timeout
        try:
            async with (
                asyncio.timeout(limit),
                httpx.AsyncClient(verify=self._context, trust_env=False, timeout=limit) as client,
                client.stream(method, address, follow_redirects=False, **more) as response,
            ):
                content = await _bounded(response)
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unavailable("The sign-in provider does not answer; try again in a moment.") from error
        try:
            document = orjson.loads(content)
        except orjson.JSONDecodeError:
            document = None
        return response.status_code, document if isinstance(document, dict) else {}


async def _bounded(response: httpx.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > _MAX_RESPONSE:
            raise Unavailable(f"The sign-in provider's answer has more than {_MAX_RESPONSE} bytes.", 60)
    return bytes(content)
