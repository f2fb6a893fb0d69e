"""The keys of a pod in turn: one signs, all that are not yet retired are believed.

Keys lie as files in one folder, and every process looks there every few seconds: a new key needs no restart. It signs
only after `lead` seconds, when all processes know it; the one before it is believed for `overlap` seconds more, until
nothing that it signed is still good. Keys that the settings name change with the settings: there the first one signs.

Source: docs/reference/reliability.md, "Key rotation".
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from auth.keys import Algorithm, SigningKey, read_keys
from domain.pods.credentials import ISSUER
from settings import Settings

LOOK_EVERY: Final = 2.0
"""Seconds between two looks into the folder."""


class Purpose(StrEnum):
    """What keys are for: our own tokens, or those by which jobs identify themselves to others."""

    SIGNING = "signing"
    IDENTITY = "identity"


ALGORITHM: Final = {Purpose.SIGNING: Algorithm.EDDSA, Purpose.IDENTITY: Algorithm.RS256}


@dataclass(frozen=True, slots=True)
class Held:
    """A key of a ring. Unix seconds; `retires_at` is None for the newest one."""

    key: SigningKey
    file: str
    signs_from: float
    retires_at: float | None


@dataclass(frozen=True, slots=True)
class Turns:
    """How keys follow each other, in seconds."""

    lead: float
    overlap: float


class KeyRing:
    """The keys of one purpose. `issuer` is in whose name they sign."""

    def __init__(
        self,
        purpose: Purpose,
        folder: Path,
        issuer: str,
        turns: Turns,
        fixed: Sequence[SigningKey] = (),
        now: Callable[[], float] = time.time,
    ) -> None:
        """Keys of `folder`, or the `fixed` ones. Nothing is read or made before the first use."""
        self.issuer = issuer
        self.algorithm = ALGORITHM[purpose]
        self._purpose = purpose
        self._folder = folder
        self._turns = turns
        self._fixed = tuple(Held(key, "", 0.0, None) for key in fixed)
        self._now = now
        self._file_name = re.compile(rf"{purpose}(?:-(?P<made>[0-9]{{1,12}}))?\.pem")
        self._files: dict[str, SigningKey] = {}
        self._look_at = 0.0

    @property
    def is_fixed(self) -> bool:
        """Whether the keys are those of the settings."""
        return bool(self._fixed)

    def signer(self) -> SigningKey:
        """The key that signs now."""
        if self._fixed:
            return self._fixed[0].key
        now = self._now()
        return next(held.key for held in reversed(self.held()) if held.signs_from <= now)

    def find(self, kid: str) -> SigningKey | None:
        """A key that is believed, by its name; None for one that is not ours, or has retired."""
        return next((held.key for held in self.held() if held.key.kid == kid), None)

    def held(self) -> tuple[Held, ...]:
        """Every key that is believed, the oldest first."""
        if self._fixed:
            return self._fixed
        now = self._now()
        return tuple(held for held in self._all() if held.retires_at is None or held.retires_at > now)

    def public_documents(self) -> dict[str, Any]:
        """The keys by which others know what the ring has signed (JWK Set, RFC 7517, "JWK Set Format")."""
        return {"keys": [held.key.public_document() for held in self.held()]}

    def rotate(self) -> Held:
        """Make the next key, and remove the files of those that have retired."""
        now = self._now()
        for held in self._all():
            if held.retires_at is not None and held.retires_at <= now:
                (self._folder / held.file).unlink(missing_ok=True)
        SigningKey.new(self.algorithm).write(self._folder / f"{self._purpose}-{int(now)}.pem")
        self._look_at = 0.0
        return self._all()[-1]

    def _all(self) -> tuple[Held, ...]:
        self._look()
        names = sorted(self._files, key=self._made)
        starts = [self._made(name) + self._turns.lead if self._made(name) else 0.0 for name in names]
        ends = [start + self._turns.overlap for start in starts[1:]]
        return tuple(
            Held(self._files[name], name, start, end)
            for name, start, end in zip(names, starts, [*ends, None], strict=True)
        )

    def _made(self, name: str) -> int:
        """When a key was made, in unix seconds; 0 for the first one."""
        found = self._file_name.fullmatch(name)
        return int(found["made"] or 0) if found else 0

    def _look(self) -> None:
        if time.monotonic() < self._look_at:
            return
        names = self._names()
        if not names:
            SigningKey.new(self.algorithm).write(self._folder / f"{self._purpose}.pem")
            names = self._names()
        self._files = {name: self._files.get(name) or self._read(name) for name in names}
        self._look_at = time.monotonic() + LOOK_EVERY

    def _names(self) -> list[str]:
        if not self._folder.is_dir():
            return []
        return [path.name for path in self._folder.iterdir() if self._file_name.fullmatch(path.name)]

    def _read(self, name: str) -> SigningKey:
        path = self._folder / name
        return read_keys(path.read_text(), str(path))[0]


def open_ring(settings: Settings, purpose: Purpose) -> KeyRing:
    """The keys of a purpose as the settings say. Raises `Invalid` for a setting that is no key."""
    known = read_keys(settings.signing_key, "PERDURE_SIGNING_KEY") if settings.signing_key else ()
    times = settings.times
    lead = times.identity_key_lead if purpose is Purpose.IDENTITY else times.signing_key_lead
    return KeyRing(
        purpose,
        settings.home / "keys",
        f"{ISSUER}{settings.pod}",
        Turns(lead, times.key_overlap),
        [key for key in known if key.algorithm is ALGORITHM[purpose]],
    )
