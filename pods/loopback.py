"""Where this machine reaches its own processes."""

from typing import Final

from settings import Settings

LOOPBACK: Final = "127.0.0.1"
EVERYWHERE: Final = frozenset({"0.0.0.0", "::", ""})
API_HEALTH: Final = "/-/front/api"
"""Path on the front that leads to the API, and says whether it serves; of a router, to the one of `?pod=NUMBER`."""


def near(settings: Settings) -> str:
    """The address under which this machine reaches what listens on `host`."""
    return LOOPBACK if settings.host in EVERYWHERE else settings.host


def front_check(settings: Settings) -> str:
    """The URL on the front that leads back to the API of the pod."""
    return f"http://{near(settings)}:{settings.front_port}{API_HEALTH}?pod={settings.pod_number}"
