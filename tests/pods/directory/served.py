"""A directory for tests: the application in this process, and what shows itself to it."""

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from auth.key_ring import KeyRing, Purpose, Turns
from auth.signed_token import TokenKind, sign
from domain.pods.directory_access import AUDIENCE, TOKEN_TYPE
from pods.directory.doors import Parts, create_app
from pods.directory.server import opened
from pods.directory_tokens import FILE
from settings import DirectorySettings, Settings

KIND = TokenKind(TOKEN_TYPE, AUDIENCE)


def directory_settings(home: Path, database_url: str = "", **more: Any) -> Settings:
    """Settings of a directory in this home."""
    return Settings(home=home, directory=DirectorySettings(database_url=database_url, **more))


def tokens_in(home: Path) -> tuple[str, str]:
    """The admin token and the read token that a directory told."""
    document = json.loads((home / FILE).read_text())
    return document["admin_token"], document["read_token"]


def ring_of(folder: Path, name: str) -> KeyRing:
    """The signing keys of a pod."""
    return KeyRing(Purpose.SIGNING, folder / name, f"perdure:{name}", Turns(0, 1000))


def public_keys(ring: KeyRing) -> dict[str, Any]:
    """What the pod tells of them."""
    return {"keys": [held.key.public_document() for held in ring.held()]}


def shown(ring: KeyRing, **claims: Any) -> str:
    """A token by which a pod shows itself now; `claims` replace those of a good one, None takes one away."""
    now = int(time.time())
    good = {"iat": now, "exp": now + 60, "sub": "pod", "jti": uuid4().hex, **claims}
    return sign(ring, KIND, {name: value for name, value in good.items() if value is not None})


@dataclass
class Served:
    """A directory that serves, and the pods that tests made in it."""

    parts: Parts
    http: httpx.AsyncClient
    home: Path
    admin: str
    read: str
    rings: dict[int, KeyRing] = field(default_factory=dict)

    async def call(self, method: str, path: str, token: str | int = "", body: Any = None) -> tuple[int, Any]:
        """Status and document of a call; `token` of the admin unless it is another one, or the number of a pod."""
        shows = shown(self.rings[token]) if isinstance(token, int) else token or self.admin
        json_body: Mapping[str, Any] = {} if body is None else {"json": body}
        response = await self.http.request(method, path, headers={"Authorization": f"Bearer {shows}"}, **json_body)
        return response.status_code, response.json() if response.content else None

    async def add_pod(self, number: int, name: str, **more: Any) -> None:
        """A pod with keys of its own."""
        self.rings[number] = ring_of(self.home, name)
        body = {"name": name, "address": "127.0.0.1:1", "public_keys": public_keys(self.rings[number]), **more}
        status, document = await self.call("PUT", f"/v1/pods/{number}", body=body)
        assert status == 200, document

    async def all(self) -> dict[str, Any]:
        """Everything that a reader sees."""
        status, document = await self.call("GET", "/v1/directory", self.read)
        assert status == 200, document
        found: dict[str, Any] = document
        return found


def an_id() -> str:
    """A new one, for a claim."""
    return str(uuid4())


async def take(directory: Served, pod: int, name: str, organisation_id: int | None = None, kind: str = "path") -> str:
    """A confirmed claim of a pod, by its own token."""
    claim_id = an_id()
    body = {"kind": kind, "name": name, "pod": pod}
    assert (await directory.call("PUT", f"/v1/claims/{claim_id}", pod, body))[0] == 200
    done = await directory.call("POST", f"/v1/claims/{claim_id}/confirm", pod, {"organisation_id": organisation_id})
    assert done[0] == 200, done
    return claim_id


@asynccontextmanager
async def served(home: Path, database_url: str = "") -> AsyncIterator[Served]:
    """A directory in this process."""
    async with opened(directory_settings(home, database_url)) as parts:
        transport = httpx.ASGITransport(create_app(parts))
        async with httpx.AsyncClient(transport=transport, base_url="http://directory") as http:
            yield Served(parts, http, home, *tokens_in(home))
