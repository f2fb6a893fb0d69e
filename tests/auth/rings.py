"""Key rings whose time a test turns."""

from dataclasses import dataclass
from pathlib import Path

from auth.key_ring import KeyRing, Purpose, Turns
from auth.keys import Algorithm, SigningKey


def ring_of(key: SigningKey | None = None, pod: str = "east") -> KeyRing:
    """A ring with one key of our own tokens."""
    fixed = key or SigningKey.new(Algorithm.EDDSA)
    return KeyRing(Purpose.SIGNING, Path("nowhere"), f"perdure:{pod}", Turns(0, 0), [fixed])


@dataclass
class Time:
    """Unix seconds."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        """The present."""
        return self.now
