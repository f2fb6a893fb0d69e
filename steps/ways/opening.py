"""From the description of a place to what opens streams to it."""

import os
from collections.abc import Mapping

from domain.steps.places import Docker, Kubernetes, Place, Ssh
from steps.dialing import ByteStream, Open
from steps.ways.docker import by_docker
from steps.ways.kubernetes import by_kubernetes
from steps.ways.processes import by_process
from steps.ways.ssh import by_ssh


def open_of(place: Place, environ: Mapping[str, str] = os.environ) -> Open:
    """What opens streams there. Raises `Invalid` where this process lacks what the place leaves open."""
    if isinstance(place, Ssh):
        return by_ssh(place)
    if isinstance(place, Docker):
        return by_docker(place)
    if isinstance(place, Kubernetes):
        return by_kubernetes(place, environ)
    return by_process(place.proxy, str(place))


class Way:
    """Opens streams to a place, and remembers why the last one could not be opened, or was over, for messages."""

    def __init__(self, open_stream: Open) -> None:
        """Nothing has been wrong."""
        self._open = open_stream
        self.fault = ""

    async def __call__(self) -> ByteStream:
        """A stream. Raises `OSError`."""
        try:
            return _Remembered(await self._open(), self)
        except OSError as error:
            self.fault = str(error)
            raise


class _Remembered:
    """A stream whose bad end is told to its way; bytes that come say that the way is good."""

    def __init__(self, stream: ByteStream, way: Way) -> None:
        self._stream, self._way = stream, way
        self.write, self.end, self.close = stream.write, stream.end, stream.close

    async def read(self) -> bytes:
        try:
            data = await self._stream.read()
        except OSError as error:
            self._way.fault = str(error)
            raise
        if data:
            self._way.fault = ""
        return data
