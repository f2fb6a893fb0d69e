"""A crowd of new connections, and the loop that a server runs on."""

import asyncio
import socket
import threading
from contextlib import ExitStack

import uvloop

from api.listeners import TIMES, listeners
from rigs.ports import LOCAL, free_port

CROWD = 64


async def turns(sockets: list[socket.socket]) -> int:
    """In how many turns of the loop a crowd that waits already is taken."""
    taken: list[asyncio.BaseTransport] = []

    class Taken(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            taken.append(transport)

    address = sockets[0].getsockname()
    with ExitStack() as crowd:
        for _ in range(CROWD):
            crowd.enter_context(socket.create_connection(address))
        loop = asyncio.get_running_loop()
        servers = [await loop.create_server(Taken, sock=one) for one in sockets]
        count = 0
        while len(taken) < CROWD and count < 10 * CROWD:
            await asyncio.sleep(0)
            count += 1
        for transport in taken:
            transport.close()
        for server in servers:
            server.close()
            await server.wait_closed()
    return count


def test_a_crowd_is_taken_in_few_turns() -> None:
    found: list[int] = []

    def run() -> None:
        found.append(uvloop.run(turns(listeners(LOCAL, free_port(), CROWD))))

    thread = threading.Thread(target=run)  # the loop of the tests is another
    thread.start()
    thread.join()
    assert found[0] <= 2 * CROWD / TIMES


def test_all_of_them_are_one_port() -> None:
    port = free_port()
    made = listeners(LOCAL, port, 1)
    try:
        assert {one.getsockname() for one in made} == {(LOCAL, port)}
    finally:
        for one in made:
            one.close()
