"""Ports for the servers that tests start."""

import socket

LOCAL = "127.0.0.1"


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind((LOCAL, 0))
        return int(probe.getsockname()[1])
