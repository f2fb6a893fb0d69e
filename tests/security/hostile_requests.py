"""What a client writes around a body: addresses, queries and headers, as texts that cost their readers most."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import httpx
from multidict import CIMultiDict, CIMultiDictProxy
from starlette.requests import Request

from api.addresses import _refusal
from api.basic_auth import basic_credentials
from api.browser_visits import wants_page
from api.idempotency import _fingerprint, _key_of
from api.runner.traces import _start
from api.shown_tokens import shown_by
from api.v4.jobs.trace_events import Place
from api.v4.not_served import why_not_served
from api.v4.origin import comes_from_our_pages
from api.v4.parameters import nested
from domain.pods.credentials import sessions_in
from domain.pods.directory import Directory, Pod
from fleet.backoff import retry_after_seconds
from git.transport.smart_http import protocol_version
from includes.remote_file import _Failure, _redirected
from pods.headers import Proxies, request_headers
from tests.security.hostile_rows import Hostile, repeated

URL: Final = "https://ci.example.com"
_APP: Final = SimpleNamespace(
    state=SimpleNamespace(
        services=SimpleNamespace(cluster=True, settings=SimpleNamespace(pod_number=7, url="http://perdure.test"))
    )
)
"""A pod of several, as far as a reader of cookies asks."""
_PODS: Final = Directory(1, (Pod(7, "seven"),))


def _scope(path: str = "/api/v4/projects", query: str = "", **headers: str) -> dict[str, Any]:
    """A request as the server hands it on."""
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        "app": _APP,
    }


def _of_header(name: str, read: Callable[[Request], object], *pieces: str, start: str = "") -> dict[str, Hostile]:
    return {
        f"header {name}: {start + piece!r}": Hostile(
            lambda text: read(Request(_scope(**{name: text}))), repeated(piece, start)
        )
        for piece in pieces
    }


def _of_text(name: str, read: Callable[[str], object], *pieces: str, start: str = "") -> dict[str, Hostile]:
    return {f"header {name}: {start + piece!r}": Hostile(read, repeated(piece, start)) for piece in pieces}


def _query(text: str) -> object:
    """As every route reads it: the parameters, those within brackets, and the token among them."""
    request = Request(_scope(query=text))
    return nested(request.query_params.multi_items()), shown_by(request)


def _forwarded(text: str) -> object:
    headers = CIMultiDictProxy(CIMultiDict({"X-Forwarded-For": text, "Connection": text, text[:2000]: "a"}))
    peer, proto = Proxies("10.0.0.0/8").origin(headers, "10.0.0.1", "http")
    return request_headers(headers, peer=peer, proto=proto)


def _location(text: str) -> object:
    try:
        return _redirected(httpx.URL(URL), text)
    except _Failure as error:
        return error


def _path(text: str) -> object:
    return _refusal(_scope(text)), _key_of(_scope(text, idempotency_key="a")), _fingerprint(_scope(text), b"")


REQUESTS: Final = {
    **{
        f"query: {piece!r}": Hostile(_query, repeated(piece, ""))
        for piece in ("a=b&", "&", ";", "=", "a", "%41", "%", "%ff", "+", "a[]=b&", "a[b]=c&", "[", "private_token=a&")
    },
    **{
        f"path of a resource: {piece!r}": Hostile(why_not_served, repeated(piece, "/api/v4"))
        for piece in ("/", "/a", "/projects", "/groups/projects")
    },
    **{f"path: {piece!r}": Hostile(_path, repeated(piece, "")) for piece in ("/", "%2F", "../", "a")},
    **_of_header("accept", wants_page, "text/html,", "*/*;q=0.1,", "text/htm"),
    **_of_header("authorization", basic_credentials, "YTpi", "=", "\xe9", " ", start="Basic "),
    **_of_header("authorization", shown_by, " ", "a ", start="Bearer "),
    **_of_header("cookie", shown_by, "a=b; ", "; ", "=", 'a="\\', "perdure_session=a; "),
    **_of_header(
        "cookie", lambda request: sessions_in(request.headers, _PODS), "perdure_session=e30.e30.e; ", "perdure_a.", "; "
    ),
    **_of_header("origin", lambda request: comes_from_our_pages(request, URL), "https://", ":1", "@", "[", "a."),
    **_of_header("idempotency_key", lambda request: _key_of(dict(request.scope)), '"', " ", "a"),
    **_of_text("content-range", _start, "bytes ", "1", "/", " ", "-"),
    **_of_text("last-event-id", Place.parse, "1", "1-", " "),
    **_of_text("git-protocol", protocol_version, "version=", "version=2:", ":", "1"),
    **_of_text("retry-after", retry_after_seconds, "1", " ", "-"),
    **_of_text("location", _location, "../", "/", "?", "a", "%"),
    **_of_text("x-forwarded-for", _forwarded, "1.1.1.1, ", ",", " ", "a"),
}
"""Of a header each row has the shape of its value."""
