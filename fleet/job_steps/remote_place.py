"""A step runner that stands elsewhere, or is not ours to start; the folder of the job is there, too, at its path."""

from dataclasses import dataclass
from pathlib import Path

from domain.steps.places import Place
from fleet.executors.hands import Hands
from fleet.job_steps.local_service import make_private
from steps.dialing import ByteStream
from steps.ways.opening import open_of


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """By `folder`, which is made here, the step runner sees that it has the folder of the job."""

    folder: Path
    hands: Hands
    place: Place

    async def prepare(self) -> None:
        """Make the folder. Raises `Invalid` where this process lacks what the place leaves open."""
        open_of(self.place)
        await self.hands.do(make_private, self.folder)

    async def open(self) -> ByteStream:
        """A stream to it. Raises `OSError`."""
        return await open_of(self.place)()
