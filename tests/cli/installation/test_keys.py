"""`perdure keys`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509

from auth.key_ring import Purpose, open_ring
from auth.keys import Algorithm, SigningKey
from cli.main import read_settings
from tests.auth.test_keys import pem
from tests.cli.running import run
from tests.deploy.front import api


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State of an installation that has not started yet."""
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path))
    monkeypatch.delenv("PERDURE_SIGNING_KEY", raising=False)
    return tmp_path


def listed() -> list[dict[str, str]]:
    """What `perdure keys list --json` says."""
    found: list[dict[str, str]] = json.loads(run("keys", "list", "--json").out)
    return found


def test_a_rotation_is_seen_by_a_process_that_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auth.key_ring.LOOK_EVERY", 0)
    running = open_ring(read_settings(), Purpose.SIGNING)
    old = running.signer().kid
    new = run("keys", "rotate", "signing").out.strip()
    assert [held.key.kid for held in running.held()] == [old, new]
    assert [(row["kid"], row["state"]) for row in listed() if row["purpose"] == "signing"] == [
        (old, "signs"),
        (new, "next"),
    ]
    assert f"{old}  signs, retires 20" in run("keys", "list").out


def test_an_installation_that_never_ran_has_an_old_key_to_rotate(home: Path) -> None:
    assert run("keys", "rotate", "identity").code == 0
    assert [row["state"] for row in listed() if row["purpose"] == "identity"] == ["signs", "next"]


def test_the_certificates_are_those_of_the_identity_keys_and_always_the_same(home: Path) -> None:
    run("keys", "rotate", "identity")
    text = run("keys", "certificates").out
    found = x509.load_pem_x509_certificates(text.encode())
    ring = open_ring(read_settings(), Purpose.IDENTITY)
    assert [one.public_key() for one in found] == [held.key.public for held in ring.held()]
    assert run("keys", "certificates").out == text


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"keys": [{"kty": "RSA", "kid": "k1"}]}, "Key k1 has no certificate"),
        ({"keys": [{"kty": "RSA", "kid": "k1", "x5c": ["bm9uZQ=="]}]}, "Key k1 has no certificate"),
        ({"message": "hello"}, "tells no keys; is PERDURE_EXTERNAL_URL the address of the router?"),
    ],
)
async def test_a_part_of_the_certificates_is_not_printed(
    document: dict[str, Any], said: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tell(_: web.Request) -> web.Response:
        return web.json_response(document)

    async with api(tell) as address:
        monkeypatch.setenv("PERDURE_EXTERNAL_URL", f"http://{address}")
        ran = await asyncio.to_thread(run, "keys", "certificates", "--all")
    assert (ran.code, ran.out) == (5, "")
    assert said in ran.err


def test_keys_of_the_settings_are_changed_in_the_settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_SIGNING_KEY", pem(SigningKey.new(Algorithm.EDDSA).private))
    ran = run("keys", "rotate", "signing")
    assert (ran.code != 0, "put a new one behind the others" in ran.err) == (True, True)
    assert [row["state"] for row in listed() if row["purpose"] == "signing"] == ["signs"]
