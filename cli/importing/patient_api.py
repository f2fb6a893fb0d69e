"""Calls that wait for a server which is away, or wants fewer calls."""

import time
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import httpx

from cli.client import Advice, Api
from domain.errors import Unavailable

_LATER: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""Answers that say nothing but "not now"."""
_PAUSE: Final = 2.0
"""Seconds between two tries where the server does not say when to come back."""
_WORTH_TELLING: Final = 5.0


class GaveUp(Unavailable):
    """A server was away, or wanted no calls, for longer than somebody wants to wait."""


class PatientApi(Api):
    """Tries again while the server asks for that (429 and 503 with `Retry-After`), or does not answer any more.

    A server that never answered is not waited for. What is made is made once: calls carry an `Idempotency-Key`.
    """

    def __init__(
        self, url: str, token: str, *, advice: Advice, patience: float, told: Callable[[str], None] = lambda _: None
    ) -> None:
        """Wait for `patience` seconds at most for each call; say so with `told`."""
        super().__init__(url, token, advice=advice)
        self._patience = patience
        self._told = told
        self._answered = False

    def _sent(self, method: str, route: str, **options: Any) -> httpx.Response:
        if method == "POST":
            options["headers"] = {"Idempotency-Key": str(uuid.uuid4())}
        end = time.monotonic() + self._patience
        while True:
            try:
                response = super()._sent(method, route, **options)
            except Unavailable as error:
                if not self._answered:
                    raise
                problem, pause = str(error), _PAUSE
            else:
                self._answered = True
                if response.status_code not in _LATER:
                    return response
                problem, pause = str(self._error(response)), _pause(response)
            if time.monotonic() + pause > end:
                raise GaveUp(problem)
            if pause >= _WORTH_TELLING:
                self._told(f"{self.url} wants us to wait {pause:.0f} s.")
            time.sleep(pause)


def _pause(response: httpx.Response) -> float:
    """Seconds that the server asks for."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdigit() else _PAUSE
