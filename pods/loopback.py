"""Where this machine reaches its own processes."""

import socket
from typing import Final

from settings import Settings, host_in_url

LOOPBACK: Final = "127.0.0.1"
EVERYWHERE: Final = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}
"""All addresses of a family, and the one of it that only this machine reaches."""
API_HEALTH: Final = "/-/front/api"
"""Path on the front that leads to the API, and says whether it serves; of a router, to the one of `?pod=NUMBER`."""


def near(settings: Settings) -> str:
    """The address under which this machine reaches what listens on `host`."""
    return EVERYWHERE.get(settings.host, settings.host)


def family_of(host: str) -> socket.AddressFamily:
    """Of which family the sockets of an address are."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def near_front(settings: Settings) -> str:
    """Where this machine reaches its own front, whatever `PERDURE_EXTERNAL_URL` says."""
    return f"http://{host_in_url(near(settings))}:{settings.front_port}"


def front_check(settings: Settings) -> str:
    """The URL on the front that leads back to the API of the pod."""
    return f"{near_front(settings)}{API_HEALTH}?pod={settings.pod_number}"
