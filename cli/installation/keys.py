"""`perdure keys`: the keys that sign tokens, and taking the next one."""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from cryptography.hazmat.primitives.serialization import Encoding

from auth.key_ring import Held, KeyRing, Purpose, open_ring
from auth.registry_token import certificate
from cli.main import JsonOption, read_settings
from domain.errors import Refused

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
def certificates() -> None:
    """Print the certificates of the identity keys: the `rootcertbundle` of a container registry."""
    for held in open_ring(read_settings(), Purpose.IDENTITY).held():
        typer.echo(certificate(held.key).public_bytes(Encoding.PEM).decode(), nl=False)


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
