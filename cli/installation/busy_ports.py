"""Who holds the ports that Perdure is about to listen on."""

import socket
from collections.abc import Sequence

import psutil

from domain.errors import Refused
from pods.child import Child, Port
from pods.loopback import family_of
from pods.process import MARK
from pods.run_folder import RunFolder


def refuse_busy_ports(children: Sequence[Child], folder: RunFolder, sockets: Sequence[socket.socket] = ()) -> None:
    """Raise Refused if a port is held by anything but a child of this home; the text names every such port.

    `sockets` listen for us already.
    """
    ours = {one.getsockname()[1] for one in sockets}
    ports = [(child, port) for child in children for port in child.ports if port.number not in ours]
    faults = [_fault(child, port, folder) for child, port in ports if _is_busy(port)]
    found = [fault for fault in faults if fault]
    if found:
        raise Refused("Perdure cannot start.\n" + "\n".join(found))


def _is_busy(port: Port) -> bool:
    family = family_of(port.host)
    with socket.socket(family) as probe:
        if family == socket.AF_INET6:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # as those that will listen
        # Connections of a server that has just ended must not count, only one that listens.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((port.host, port.number))
        except OSError:
            return True
    return False


def _fault(child: Child, port: Port, folder: RunFolder) -> str | None:
    holder = _holder(port.number)
    try:
        if holder and holder.environ().get(MARK) == folder.mark(child.name):
            return None
        who = f"{holder.name()} (pid {holder.pid})" if holder else "another process"
    except (psutil.Error, OSError):
        who = f"pid {holder.pid}" if holder else "another process"
    return (
        f"  Port {port.number} on {port.host}, needed by {child.name}, is in use by {who}. "
        f"Stop that process, or choose another port with {port.setting}."
    )


def _holder(number: int) -> psutil.Process | None:
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN
            if listens and connection.pid and connection.laddr and connection.laddr.port == number:
                return psutil.Process(connection.pid)
    except (psutil.Error, OSError):
        return None
    return None
