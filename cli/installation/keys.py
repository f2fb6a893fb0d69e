"""`perdure keys`: the keys that sign tokens, and taking the next one."""

import json
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from auth.key_certificates import certificate, certificate_in
from auth.key_ring import Held, KeyRing, Purpose, open_ring
from cli.client import Api
from cli.json_option import JsonOption
from cli.main import read_settings
from domain.errors import Refused, Unavailable

PUBLISHED: Final = "/-/jwks"
"""Where a server tells the identity keys: a router those of all pods."""

app = typer.Typer(help="List and rotate the keys that sign tokens.", no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key as it is shown; times are ISO 8601 in UTC, empty where there is none."""

    purpose: str
    kid: str
    file: str
    state: str
    signs_from: str
    retires_at: str


@app.command("list")
def list_keys(as_json: JsonOption = False) -> None:
    """Show the keys whose tokens are good: which one signs, which comes next, and when an old one retires."""
    rows = [row for purpose in Purpose for row in _rows(purpose, open_ring(read_settings(), purpose))]
    if as_json:
        typer.echo(json.dumps([{name: getattr(row, name) for name in KeyRow.__slots__} for row in rows]))
        return
    for row in rows:
        until = f", retires {row.retires_at}" if row.retires_at else ""
        since = f" from {row.signs_from}" if row.state == "next" else ""
        typer.echo(f"{row.purpose:8}  {row.kid}  {row.state}{since}{until}")


@app.command()
def rotate(
    purpose: Annotated[Purpose, typer.Argument(help="Our own tokens (signing), or those for others (identity).")],
) -> None:
    """Make the next key. No restart is needed, and no token that is out is lost."""
    settings = read_settings()
    ring = open_ring(settings, purpose)
    if ring.is_fixed:
        raise Refused(
            f"The {purpose} keys are in PERDURE_SIGNING_KEY: put a new one behind the others there and restart all "
            "processes, then put it first and restart them again."
        )
    ring.signer()  # an installation that never ran has one to come after
    made = ring.rotate()
    typer.echo(f"Key {made.key.kid} signs from {_moment(made.signs_from)}.", err=True)
    if purpose is Purpose.IDENTITY and settings.registry_url:
        typer.echo("Before then give the registry the certificates of `perdure keys certificates`.", err=True)
    typer.echo(made.key.kid)


@app.command()
def certificates(
    of_all: Annotated[
        bool, typer.Option("--all", help="Those of all pods, as the router at PERDURE_EXTERNAL_URL tells them.")
    ] = False,
) -> None:
    """Print the certificates of the identity keys: the `rootcertbundle` of a container registry."""
    settings = read_settings()
    if of_all:
        found = _of_all_pods(settings.url)
    else:
        found = [certificate(held.key) for held in open_ring(settings, Purpose.IDENTITY).held()]
    # Before the first is printed all are there: a registry with a part of them would refuse what the others sign.
    typer.echo("".join(one.public_bytes(Encoding.PEM).decode() for one in found), nl=False)


def _of_all_pods(url: str) -> list[x509.Certificate]:
    """Raises `Unavailable` if a pod does not tell them, and has not told its router before."""
    place = f"{url}{PUBLISHED}"
    with closing(Api(url)) as server:
        document = server.get(place)
    keys = document.get("keys") if isinstance(document, dict) else None
    if not keys:
        raise Unavailable(f"{place} tells no keys; is PERDURE_EXTERNAL_URL the address of the router?")
    found = []
    for key in keys:
        told = certificate_in(key)
        if told is None:
            raise Unavailable(
                f"Key {key.get('kid')} has no certificate at {place}: its pod is away, or of an older version. "
                "Try again when all pods answer, or let that pod print its own (`perdure keys certificates`)."
            )
        found.append(told)
    return found


def _rows(purpose: Purpose, ring: KeyRing) -> list[KeyRow]:
    signer = ring.signer()
    return [
        KeyRow(
            purpose=purpose,
            kid=held.key.kid,
            file=held.file,
            state=_state(held, is_signer=held.key is signer),
            signs_from=_moment(held.signs_from),
            retires_at=_moment(held.retires_at),
        )
        for held in ring.held()
    ]


def _state(held: Held, *, is_signer: bool) -> str:
    if is_signer:
        return "signs"
    return "next" if held.signs_from > time.time() else "believed"


def _moment(seconds: float | None) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else ""
