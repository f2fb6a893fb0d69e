"""Our process without its API, and with a bell: `python -m bench.engine_worker`.

It is `python -m worker` in the role of a worker. What the API does besides writing to SQL is to wake the outbox relay;
`bench.outcomes` does so by a byte on the port that the API would have.
"""

import asyncio

import worker
from models.notifications import OUTBOX


class EngineProcess(worker.Process):
    """A worker that listens for the bell."""

    async def run(self) -> int:
        """Serve until a signal or a fatal fault."""
        server = await asyncio.start_server(self._hear, self._settings.host, self._settings.api_port)
        try:
            return await super().run()
        finally:
            server.close()

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1_024):
            await self._services.notifications.notify(OUTBOX)
        writer.close()


def main() -> None:
    """Run the process."""
    worker.main(EngineProcess)


if __name__ == "__main__":
    main()
