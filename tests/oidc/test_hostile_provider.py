"""What a provider, or somebody between it and us, may say that must not be believed."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from joserfc import jwk, jwt
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from auth.oidc import provider as provider_module
from auth.session_token import COOKIE
from rigs.ports import LOCAL, free_port
from settings import OidcSettings
from tests.api.v4.site import Site, open_site
from tests.waiting import eventually

START = "/users/auth/oidc"
SECRET = "secret-of-the-tests-that-is-long-enough"


@dataclass
class Hostile:
    """A provider that says what a test wants; without changes it is an honest one."""

    port: int
    key: jwk.RSAKey = field(default_factory=lambda: jwk.RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}))
    published: list[dict[str, Any]] = field(default_factory=list)
    discovery: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    token: Callable[[dict[str, Any]], str] | None = None
    asked_for_keys: int = 0

    @property
    def issuer(self) -> str:
        return f"http://{LOCAL}:{self.port}"

    def signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        honest = {"iss": self.issuer, "sub": "ada", "aud": "perdure", "nonce": nonce, "iat": now, "exp": now + 60}
        honest |= {"email": "ada@example.com", "email_verified": True, "preferred_username": "ada", "name": "Ada"}
        claims = {name: value for name, value in (honest | self.claims).items() if value is not None}
        return (self.token or self.signed)(claims)

    async def well_known(self, _: Request) -> Response:
        names = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "keys"}
        addresses = {name: f"{self.issuer}/{path}" for name, path in names.items()}
        return JSONResponse({"issuer": self.issuer, **addresses} | self.discovery)

    async def keys(self, _: Request) -> Response:
        self.asked_for_keys += 1
        return JSONResponse({"keys": self.published or [self.key.as_dict(private=False)]})

    async def give_token(self, request: Request) -> Response:
        form = parse_qs((await request.body()).decode())
        response = {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token(form["code"][0])}
        return JSONResponse(response)

    async def huge(self, _: Request) -> Response:
        return Response(b"[" + b" " * 1_000_000, media_type="application/json")

    async def silent(self, _: Request) -> Response:
        await asyncio.sleep(3600)
        raise AssertionError

    async def elsewhere(self, _: Request) -> Response:
        return RedirectResponse(f"{self.issuer}/token", 307)


@asynccontextmanager
async def serving(hostile: Hostile) -> AsyncIterator[None]:
    routes = [
        Route("/.well-known/openid-configuration", hostile.well_known),
        Route("/keys", hostile.keys),
        Route("/token", hostile.give_token, methods=["POST"]),
        Route("/huge", hostile.huge, methods=["GET", "POST"]),
        Route("/silent", hostile.silent, methods=["GET", "POST"]),
        Route("/elsewhere", hostile.elsewhere, methods=["GET", "POST"]),
    ]
    config = uvicorn.Config(
        Starlette(routes=routes),
        host=LOCAL,
        port=hostile.port,
        log_level="critical",
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=0,
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    await eventually(started, "the provider has started")
    try:
        yield
    finally:
        server.should_exit = True
        await running


@dataclass
class Meeting:
    site: Site
    hostile: Hostile

    async def sign_in(self, *, nonce: str = "") -> tuple[int, str, bool]:
        """Status, page, and whether there is a session. The code that the provider gives is the nonce."""
        async with self.site.client(headers={"Accept": "text/html"}) as client:
            begun = await client.get(START)
            if begun.status_code != 303:
                return begun.status_code, begun.text, COOKIE in client.cookies
            query = parse_qs(urlsplit(begun.headers["location"]).query)
            assert query["code_challenge_method"] == ["S256"]
            params = {"state": query["state"][0], "code": nonce or query["nonce"][0]}
            response = await client.get(f"{START}/callback", params=params)
            return response.status_code, response.text, COOKIE in client.cookies


@pytest.fixture
async def meeting(tmp_path: Path) -> AsyncIterator[Meeting]:
    hostile = Hostile(free_port())
    more: dict[str, Any] = {"client_id": "perdure", "client_secret": SECRET, "create_accounts": True, "timeout": 2.0}
    oidc = OidcSettings(issuer=hostile.issuer, **more)
    async with serving(hostile), open_site(tmp_path, "", oidc=oidc) as site:
        yield Meeting(site, hostile)


def unsigned(claims: dict[str, Any], alg: str) -> str:
    from base64 import urlsafe_b64encode

    parts = [json.dumps(part).encode() for part in ({"alg": alg, "typ": "JWT"}, claims)]
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


def by_secret(claims: dict[str, Any], secret: bytes) -> str:
    return jwt.encode({"alg": "HS256", "kid": "one"}, claims, jwk.OctKey.import_key(secret), algorithms=["HS256"])


async def test_claims_that_are_not_for_us_are_refused(meeting: Meeting) -> None:
    now = int(time.time())
    attacks: dict[str, dict[str, Any]] = {
        "another audience": {"aud": "others"},
        "no audience": {"aud": None},
        "several audiences without azp": {"aud": ["perdure", "others"]},
        "another authorized party": {"aud": ["perdure", "others"], "azp": "others"},
        "another authorized party alone": {"azp": "others"},
        "another issuer": {"iss": "https://evil.example"},
        "an issuer with a slash more": {"iss": meeting.hostile.issuer + "/"},
        "no issuer": {"iss": None},
        "the nonce of another login": {"nonce": "x" * 43},
        "no nonce": {"nonce": None},
        "expired": {"iat": now - 1000, "exp": now - 60},
        "no end": {"exp": None},
        "an end that is no number": {"exp": "never"},
        "of the future": {"iat": now + 1000, "exp": now + 2000},
        "nobody": {"sub": None},
        "an empty name": {"sub": ""},
        "a number as name": {"sub": 7},
        "the hash of another access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
    }
    for name, claims in attacks.items():
        meeting.hostile.claims = claims
        status, text, session = await meeting.sign_in()
        assert (status, session) == (401, False), name
        assert "not to be believed" in text, name
    meeting.hostile.claims = {"aud": ["perdure", "others"], "azp": "perdure"}
    assert (await meeting.sign_in())[0] == 303
    meeting.hostile.claims = {}
    assert (await meeting.sign_in())[0] == 303


async def test_only_the_keys_of_the_provider_count(meeting: Meeting) -> None:
    hostile = meeting.hostile
    other = jwk.RSAKey.generate_key(2048, {"kid": "one"})
    stranger = jwk.RSAKey.generate_key(2048, {"kid": "two"})
    public = hostile.key.as_pem(private=False)

    def broken(claims: dict[str, Any]) -> str:
        head, body, signature = hostile.signed(claims).split(".")
        return f"{head}.{body}.{signature[:-8]}AAAAAAAA"

    attacks: dict[str, Callable[[dict[str, Any]], str]] = {
        "none": lambda claims: unsigned(claims, "none"),
        "None": lambda claims: unsigned(claims, "None"),
        "no signature": lambda claims: unsigned(claims, "RS256"),
        "our secret": lambda claims: by_secret(claims, SECRET.encode()),
        "the public key as a secret": lambda claims: by_secret(claims, public),
        "another key of that name": lambda claims: jwt.encode({"alg": "RS256", "kid": "one"}, claims, other),
        "a key that brings itself": lambda claims: jwt.encode(
            {"alg": "RS256", "kid": "two", "jwk": stranger.as_dict(private=False)}, claims, stranger
        ),
        "a broken signature": broken,
        "nonsense": lambda _: "nonsense",
        "too long": lambda _: "a" * 20_000,
    }
    for name, token in attacks.items():
        hostile.token = token
        status, _, session = await meeting.sign_in()
        assert (status, session) == (401, False), name
    assert hostile.asked_for_keys == 1, "tokens with unknown keys do not make us ask again and again"


async def test_a_new_key_is_fetched_when_a_token_names_it(meeting: Meeting, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await meeting.sign_in())[0] == 303
    hostile = meeting.hostile
    fresh = jwk.ECKey.generate_key("P-256", {"kid": "two", "use": "sig"})
    hostile.published = [fresh.as_dict(private=False)]
    hostile.token = lambda claims: jwt.encode({"alg": "ES256", "kid": "two"}, claims, fresh)
    assert (await meeting.sign_in())[0] == 401
    monkeypatch.setattr(provider_module, "_AGAIN", 0.0)
    assert (await meeting.sign_in())[0] == 303
    assert hostile.asked_for_keys == 2


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"issuer": "https://evil.example"}, "another name"),
        ({"issuer": None}, "another name"),
        ({"token_endpoint": "file:///etc/passwd"}, "no safe address"),
        ({"jwks_uri": None}, "no safe address"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no safe address"),
    ],
)
async def test_a_provider_that_describes_itself_wrongly_is_not_used(
    meeting: Meeting, document: dict[str, Any], words: str
) -> None:
    meeting.hostile.discovery = document
    status, text, session = await meeting.sign_in()
    assert (status, session, words in text) == (503, False, True)


@pytest.mark.parametrize("place", ["token_endpoint", "jwks_uri"])
@pytest.mark.parametrize("path", ["huge", "silent", "elsewhere", "none"])
async def test_answers_are_bounded_and_lead_nowhere(meeting: Meeting, place: str, path: str) -> None:
    meeting.hostile.discovery = {place: f"{meeting.hostile.issuer}/{path}"}
    status, _, session = await meeting.sign_in()
    assert (status in {401, 503}, session) == (True, False)


@pytest.mark.parametrize(
    "values",
    [
        {"issuer": "http://idp.example", "client_id": "x"},
        {"issuer": "https://idp.example"},
        {"issuer": "https://idp.example", "client_id": "x", "scopes": "email"},
    ],
)
def test_settings_that_are_not_safe_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="PERDURE_OIDC_"):
        OidcSettings(**values)
