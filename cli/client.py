"""Calls of the command line on Perdure's REST API; every failure becomes one of our errors."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx

from domain.errors import (
    Forbidden,
    Invalid,
    NotAllowed,
    NotFound,
    PerdureError,
    Refused,
    Unauthenticated,
    Unavailable,
    Unmergeable,
)

_ERRORS: Final[dict[int, type[PerdureError]]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.METHOD_NOT_ALLOWED: NotAllowed,
    HTTPStatus.CONFLICT: Refused,
    HTTPStatus.UNPROCESSABLE_ENTITY: Unmergeable,
    HTTPStatus.TOO_MANY_REQUESTS: Unavailable,
}
_TIMEOUT: Final = 30.0
PAGE: Final = 100
"""Items of a list that are asked for at a time, the most that a server gives."""
LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""Hosts that are this machine."""

_OF_SYSTEM: Final = re.compile(r"^\[[^]]*\] | \(_ssl\.c:\d+\)$")
"""Numbers of the system around its words, as in `[Errno 111] Connection refused`."""

_ENDS: Final = (".", "!", "?", ":", "`")
"""Of sentences: others get a full stop before what follows."""

Advice = Mapping[type[PerdureError], str]
"""What to do next, by the kind of error."""
_LOCAL_ADVICE: Final[Advice] = {Unavailable: "Is `perdure up` running?"}


class Api:
    """The REST API as one person sees it."""

    def __init__(self, url: str, token: str = "", *, advice: Advice = _LOCAL_ADVICE, timeout: float = _TIMEOUT) -> None:
        """Call the server at `url` with a personal access token, or as nobody; `advice` ends the texts of errors.

        Proxies and certificates of the environment are heeded, but not on the way to this machine.
        """
        self.url = url
        self._token = token
        self._advice = advice
        self._client = httpx.Client(
            base_url=f"{url}/api/v4",
            headers={"PRIVATE-TOKEN": token} if token else {},
            timeout=timeout,
            trust_env=urlsplit(url).hostname not in LOCAL,
        )

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def get(self, route: str, **parameters: Any) -> Any:
        """Read something."""
        return self._call("GET", route, params=parameters)

    def listed(self, route: str, most: int | None = None, **parameters: Any) -> list[Any]:
        """Read a list from all its pages, or its first `most` items."""
        items: list[Any] = []
        size = PAGE if most is None else min(PAGE, most)
        wanted: dict[str, Any] | None = {**parameters, "per_page": size, "page": "1"}
        while wanted and (most is None or len(items) < most):
            response = self._answer("GET", route, params=wanted)
            items += self._document(response)
            wanted = _next_page(response, wanted)
        return items if most is None else items[:most]

    def counted(self, route: str, most: int, **parameters: Any) -> tuple[list[Any], int, bool]:
        """The first items of a list, how many there are, and whether the server has counted them.

        GitLab does not count lists of more than 10,000; the number is then the least that there are.
        """
        response = self._answer("GET", route, params={**parameters, "per_page": most, "page": "1"})
        items = self._document(response)
        total = response.headers.get("x-total", "")
        if total.isdigit():
            return items, int(total), True
        return items, len(items), _next_page(response, {}) is None

    def post(self, route: str, **body: Any) -> Any:
        """Make or do something."""
        return self._call("POST", route, json=body)

    def put(self, route: str, **body: Any) -> Any:
        """Change something."""
        return self._call("PUT", route, json=body)

    def call(self, method: str, route: str, body: Mapping[str, Any]) -> Any:
        """Make, change or do something; None where the server has nothing to say."""
        response = self._answer(method, route, json=dict(body))
        return self._document(response) if response.content else None

    def delete(self, route: str, **parameters: Any) -> None:
        """Remove something."""
        self._answer("DELETE", route, params=parameters)

    def text(self, route: str) -> str:
        """Read something that is not JSON."""
        return self._answer("GET", route).text

    def date(self) -> str:
        """What the server's clock says, as HTTP writes it; empty where it does not say."""
        return str(self._answer("GET", "/version").headers.get("date", ""))

    @contextmanager
    def stream(
        self, route: str, headers: Mapping[str, str] | None = None, *, silence: float = _TIMEOUT, accept: int = 0
    ) -> Iterator[httpx.Response]:
        """A response whose body is read bit by bit; `accept` is a status beside success that is no error.

        Raises `Unavailable` also when the connection breaks, or is silent for so many seconds, while it is read.
        """
        limits = httpx.Timeout(_TIMEOUT, read=silence)
        with self._reaching(), self._client.stream("GET", route, headers=headers, timeout=limits) as response:
            if not response.is_success and response.status_code != accept:
                response.read()
                raise self._error(response)
            yield response

    def _call(self, method: str, route: str, **options: Any) -> Any:
        return self._document(self._answer(method, route, **options))

    def _answer(self, method: str, route: str, **options: Any) -> httpx.Response:
        response = self._sent(method, route, **options)
        if response.is_success:
            return response
        raise self._error(response)

    def _sent(self, method: str, route: str, **options: Any) -> httpx.Response:
        with self._reaching():
            return self._client.request(method, route, **options)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.InvalidURL as error:
            raise Invalid(f"{self.url} is no address: {error}.") from error
        except httpx.HTTPError as error:
            reason = _OF_SYSTEM.sub("", str(error)) or type(error).__name__
            raise Unavailable(self._advised(Unavailable, f"{self.url} cannot be reached: {reason}.")) from error

    def _document(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError as error:
            text = f"{response.url} answers {response.status_code} with what is no JSON; is a Perdure server there?"
            raise Unavailable(self._advised(Unavailable, text)) from error

    def _error(self, response: httpx.Response) -> PerdureError:
        if response.is_redirect:
            place = response.headers.get("location", "another place")
            text = f"{response.url} leads to {place}, and a token is not sent on. Use that address."
            return Invalid(self._advised(Invalid, text))
        text = f"{response.request.method} {response.url}: {_message(response)}"
        kind = _ERRORS.get(response.status_code, Invalid)
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            kind = Unavailable
        elif _body(response).get("reason"):
            kind = Refused
        return kind(self._advised(kind, text))

    def _advised(self, kind: type[PerdureError], text: str) -> str:
        if self._token:
            text = text.replace(self._token, "[MASKED]")  # a server may repeat what it was sent
        if kind not in self._advice:
            return text
        return f"{text if text.endswith(_ENDS) else f'{text}.'} {self._advice[kind]}"


def _next_page(response: httpx.Response, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters of the next page; None on the last one.

    Of a link only its parameters count (lists by keyset have nothing else): calls stay with the server and the route.
    """
    page = response.headers.get("x-next-page")
    if page:
        return {**wanted, "page": page}
    link = response.links.get("next", {}).get("url", "") if page is None else ""
    following = dict(parse_qsl(urlsplit(link).query))
    return following if following and following != wanted else None


def _body(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


_WORDS: Final[tuple[Callable[[dict[str, Any]], Any], ...]] = (
    lambda body: body.get("message"),
    lambda body: body.get("error_description"),
    lambda body: body.get("error"),
)


def _message(response: httpx.Response) -> str:
    """What the server says of an error, in one line for each fault."""
    body = _body(response)
    said = next((found for read in _WORDS if (found := read(body))), None)
    if said is None:
        return f"{response.status_code} {response.text[:200]}"
    text = _flat(said)
    return f"{text}: {body['reason']}" if body.get("reason") else text


def _flat(said: Any) -> str:
    """GitLab's messages are texts, lists, or lists by the name of a field; `base` is of no field."""
    if isinstance(said, dict):
        return "\n".join(_flat(value) if name == "base" else f"{name} {_flat(value)}" for name, value in said.items())
    if isinstance(said, list):
        return "\n".join(_flat(one) for one in said)
    return str(said)
