"""Calls of the command line on Perdure's REST API; every failure becomes one of our errors."""

from http import HTTPStatus
from typing import Any, Final

import httpx

from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Refused, Unauthenticated, Unavailable

_ERRORS: Final[dict[int, type[PerdureError]]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Refused,
}
_TIMEOUT: Final = 30.0


class Api:
    """The REST API as one person sees it."""

    def __init__(self, url: str, token: str) -> None:
        """Call the server at `url` with a personal access token."""
        headers = {"PRIVATE-TOKEN": token}
        self._client = httpx.Client(base_url=f"{url}/api/v4", headers=headers, timeout=_TIMEOUT, trust_env=False)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def get(self, route: str, **parameters: Any) -> Any:
        """Read something."""
        return self._call("GET", route, params=parameters)

    def post(self, route: str, **body: Any) -> Any:
        """Make or do something."""
        return self._call("POST", route, json=body)

    def text(self, route: str) -> str:
        """Read something that is not JSON."""
        return self._answer("GET", route).text

    def _call(self, method: str, route: str, **options: Any) -> Any:
        return self._answer(method, route, **options).json()

    def _answer(self, method: str, route: str, **options: Any) -> httpx.Response:
        try:
            answer = self._client.request(method, route, **options)
        except httpx.HTTPError as error:
            raise Unavailable(
                f"{self._client.base_url} cannot be reached: {error}. Is `perdure up` running?"
            ) from error
        if answer.is_success:
            return answer
        text = f"{method} {answer.url}: {_message(answer)}"
        if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise Unavailable(text)
        raise _ERRORS.get(answer.status_code, Invalid)(text)


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.text[:200]}"
