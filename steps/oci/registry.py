"""A registry: what it says of images, and their blobs, each checked by its digest; by `oras`, which logs in and pushes.

Of `oras` we do without its tries in a row, which wait for minutes also where a password is wrong, and give it what it
has not: a limit of time, Basic authentication where a registry asks for that, and a fresh token for each new right.
"""

import hashlib
import inspect
import ipaddress
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import oras.auth.utils
import oras.logger
import requests
import urllib3
from oras.auth.token import TokenAuth
from oras.container import Container
from oras.provider import Registry
from requests.adapters import HTTPAdapter

from domain.errors import Invalid, TooLarge
from domain.steps.images import DIGEST, INDEX_TYPES, MANIFEST_TYPES, MAX_MANIFEST, Blob
from domain.steps.references import OciReference

MAX_BLOB: Final = 1024**3
"""Bytes of a layer as it comes."""
TIMEOUTS: Final = (10.0, 60.0)
"""Seconds for a connection, and between two pieces of a response."""
_RETRY: Final = urllib3.Retry(
    total=2,
    backoff_factor=0.5,
    status_forcelist=(500, 502, 503, 504),
    raise_on_status=False,
    respect_retry_after_header=False,
)
_HUB: Final = {"docker.io": "registry-1.docker.io", "index.docker.io": "registry-1.docker.io"}
_PIECE: Final = 256 * 1024
_REFUSED: Final = frozenset({requests.codes.unauthorized, requests.codes.forbidden})


class Images:
    """The images of one repository."""

    def __init__(self, reference: OciReference, login: tuple[str, str] | None) -> None:
        """`login` is a user with their password. It is sent to nobody but the registry, and never in plain text."""
        self._host, is_plain = address_of(reference.registry)
        self._repository = reference.repository
        self._oras = _Registry(self._host, insecure=is_plain)
        if login is not None and (not is_plain or is_loopback(self._host)):
            self._oras.auth.set_basic_auth(*login)

    def manifest(self, name: str) -> tuple[bytes, str]:
        """What stands at a tag or a digest, and its digest. Raises `Invalid`."""
        headers = {"Accept": ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))}
        with self._faults(name), self._asked("GET", f"manifests/{name}", headers=headers, stream=True) as response:
            content = bytearray()
            for piece in response.iter_content(_PIECE):
                content += piece
                if len(content) > MAX_MANIFEST:
                    raise TooLarge(f"the manifest of an image has at most {MAX_MANIFEST:,} bytes")
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if DIGEST.fullmatch(name) and digest != name:
            raise Invalid(f"{self._host} gave a manifest with the digest {digest} for {name}")
        return bytes(content), digest

    def fetch(self, blob: Blob, target: Path) -> None:
        """Write a blob into a file. Raises `Invalid` for one that is not what its digest says, `TooLarge`."""
        if blob.size > MAX_BLOB:
            raise TooLarge(f"a layer of an image has at most {MAX_BLOB:,} bytes; this one has {blob.size:,}")
        digest, size = hashlib.sha256(), 0
        with (
            self._faults(blob.digest),
            target.open("xb") as file,
            self._asked("GET", f"blobs/{blob.digest}", headers={}, stream=True) as response,
        ):
            for piece in response.raw.stream(_PIECE, decode_content=False):
                size += len(piece)
                if size > blob.size:
                    break
                digest.update(piece)
                file.write(piece)
        if size != blob.size or f"sha256:{digest.hexdigest()}" != blob.digest:
            raise Invalid(f"{self._host} gave other bytes than those of {blob.digest}")

    def push(self, blob: Blob, file: Path) -> None:
        """Upload a blob that is not there yet. Raises `Invalid`."""
        with self._faults(blob.digest):
            layer = {"digest": blob.digest, "size": blob.size}
            try:
                self._check(self._oras.upload_blob(str(file), self._container(), layer), blob.digest)
            except ValueError as error:  # the answer to its first request had no place for the rest
                if isinstance(error, requests.RequestException):
                    raise
                raise self._refusal(self._oras.last_code, blob.digest) from None

    def tag(self, tag: str, manifest: bytes) -> str:
        """Upload a manifest under a tag; its digest. Raises `Invalid`."""
        with self._faults(tag):
            self._asked("PUT", f"manifests/{tag}", headers={"Content-Type": MANIFEST_TYPES[0]}, data=manifest).close()
        return f"sha256:{hashlib.sha256(manifest).hexdigest()}"

    def _asked(self, method: str, path: str, **options: Any) -> requests.Response:
        url = f"{self._oras.prefix}://{self._host}/v2/{self._repository}/{path}"
        response = self._oras.do_request(url, method, **options)
        return self._check(response, path.rpartition("/")[2])

    def _check(self, response: requests.Response, name: str) -> requests.Response:
        if response.ok:
            return response
        response.close()
        raise self._refusal(response.status_code, name)

    def _refusal(self, code: int, name: str) -> Invalid:
        image = f"{self._host}/{self._repository}"
        if code == requests.codes.not_found:
            return Invalid(f"{image} has no {name}")
        if code in _REFUSED:
            return Invalid(_no_login(image))
        return Invalid(f"{image}: the registry answers {code} for {name}")

    @contextmanager
    def _faults(self, name: str) -> Iterator[None]:
        """What goes wrong on the way, in a sentence without any address that somebody was sent to: it may let in."""
        try:
            yield
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise Invalid(f"{self._host} cannot be asked for {self._repository} {name}: {_reason(error)}") from None

    def _container(self) -> Container:
        found = Container("x", registry=self._host)
        found.namespace, found.repository = None, self._repository
        return found


class _Authentication(TokenAuth):  # type: ignore[misc]  # it has no types
    """As the registry asks: by a token for what is wanted now, or by user and password."""

    def authenticate_request(
        self, original: requests.Response, headers: dict[str, str], refresh: bool = False
    ) -> tuple[dict[str, str], bool]:
        """The headers for the next request, and whether there is any use in it."""
        challenge = original.headers.get("Www-Authenticate", "")
        original.close()
        if challenge.lower().startswith("basic"):
            basic = getattr(self, "_basic_auth", None)
            if basic is None or refresh:
                return headers, False
            self.session.headers["Authorization"] = f"Basic {basic}"  # for all that follows, to this registry alone
            return {**headers, "Authorization": f"Basic {basic}"}, True
        realm = oras.auth.utils.parse_auth_header(challenge).realm or ""
        if not challenge.lower().startswith("bearer") or not realm.startswith(("http://", "https://")):
            return headers, False
        if realm.startswith("http://") and not is_loopback(urlsplit(realm).netloc):
            raise Invalid(f"the registry sends whoever logs in to {urlsplit(realm).netloc}, which is not encrypted")
        try:
            return super().authenticate_request(original, headers, refresh=True)  # type: ignore[no-any-return]
        except (AttributeError, TypeError):  # it takes any JSON for an object
            return headers, False


class _Registry(Registry):  # type: ignore[misc]  # it has no types
    """The client."""

    def __init__(self, host: str, *, insecure: bool) -> None:
        oras.logger.logger.set_level("CRITICAL")
        super().__init__(host, insecure=insecure)
        self.last_code = 0
        self.session.auth = lambda request: request  # and not what `.netrc` says
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, _Adapter(max_retries=_RETRY))
        self.auth = _Authentication()
        self.auth.session, self.auth.prefix, self.auth._tls_verify = self.session, self.prefix, True  # noqa: SLF001

    def do_request(self, *arguments: Any, **options: Any) -> requests.Response:
        """One request, with at most one login."""
        try:
            response: requests.Response = inspect.unwrap(Registry.do_request)(self, *arguments, **options)
        except ValueError as error:
            if isinstance(error, requests.RequestException):
                raise
            raise Invalid(_no_login(str(self.hostname))) from None
        self.last_code = response.status_code
        return response


class _Adapter(HTTPAdapter):
    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        return super().send(request, *arguments, **{**options, "timeout": options.get("timeout") or TIMEOUTS})


def address_of(registry: str) -> tuple[str, bool]:
    """Host and port of a registry as a reference names it, and whether it is asked without TLS."""
    scheme, _, host = registry.rpartition("://")
    host = _HUB.get(host, host)
    return host, scheme == "http" or (not scheme and is_loopback(host))


def is_loopback(host: str) -> bool:
    """Whether `host:port` is this machine."""
    name = urlsplit(f"//{host}").hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _no_login(what: str) -> str:
    return f"{what} lets nobody in without a login that may do this; DOCKER_AUTH_CONFIG may hold one"


def _reason(error: BaseException) -> str:
    """The innermost thing that went wrong, in the words of the system."""
    seen: list[BaseException] = []
    waiting: list[Any] = [error]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            waiting += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
    for one in seen:
        if isinstance(one, ssl.SSLCertVerificationError):
            return str(one.verify_message)
        if isinstance(one, OSError) and one.strerror:
            return str(one.strerror)
    return type(seen[-1]).__name__
