"""The listening sockets of a supervisor: from systemd, from the front that an earlier supervisor left, or its own."""

import socket
from pathlib import Path

from pods.child import Port
from pods.listening import address_of, addresses, handed, opened, taken_over


class Sockets:
    """One listening socket or several for each port that belongs to the supervisor."""

    def __init__(self, home: Path) -> None:
        """Take what this process was handed at its start."""
        self._home = home
        self._handed = handed()
        self._of: dict[Port, list[socket.socket]] = {}

    def has(self, port: Port) -> bool:
        """Is there one already?"""
        return port in self._of or bool(self._handed)

    def of(self, port: Port) -> list[socket.socket]:
        """The sockets of a port; opens them if there are none. Raises OSError if the port is taken."""
        if port not in self._of:
            self._of[port] = self._handed or opened(port.host, port.number)
        return self._of[port]

    def take_over(self, port: Port, pid: int) -> None:
        """Get the sockets of a port from a living front, if it has some there; what was handed at the start goes first.

        One that gives none, because it is older or hangs, keeps its own; the next one gets ours.
        """
        if self.has(port):
            return
        found = taken_over(self._home, pid)
        if found and address_of(found) == addresses(port.host, port.number):
            self._of[port] = found
            return
        for one in found:
            one.close()
