"""Our process with a bell that makes jobs pending: `python -m bench.queue.worker`.

It is `python -m worker`; who rings sends the ids of created jobs, a line of JSON each, to the port that the front would
have. They become pending and are told of as an offer of a workflow does it. The answer is a line with the time (unix
seconds) right after the commit.
"""

import asyncio
import json
import time

import worker
from domain.pipelines.status import Status
from models import job_offers
from models.repositories.pipelines import job_rows


class QueueProcess(worker.Process):
    """A server process that listens for the bell."""

    async def run(self) -> int:
        """Serve until a signal or a fatal fault."""
        server = await asyncio.start_server(self._hear, self._settings.host, self._settings.front_port)
        try:
            return await super().run()
        finally:
            server.close()

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        services = self._services
        while line := await reader.readline():
            ids: list[int] = json.loads(line)
            async with services.database.write() as connection:
                await job_rows.set_status(connection, ids, Status.PENDING, services.clock())
            committed = time.time()
            await job_offers.tell(services.database, services.notifications, ids)
            writer.write(json.dumps(committed).encode() + b"\n")
        writer.close()


def main() -> None:
    """Run the process."""
    worker.main(QueueProcess)


if __name__ == "__main__":
    main()
