"""Calls of the directory of a cluster (docs/pods.md, "The directory"), for routers, pods and the command line.

Every call may be repeated: after `Unavailable` nobody knows whether it was done, and the same call again tells.
"""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote
from uuid import UUID

import httpx

from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Refused, Taken, Unauthenticated, Unavailable
from domain.pods.claims import Claim, ClaimKind, ClaimState
from domain.pods.directory import IdKind, Pod
from domain.pods.directory_changes import Changes, changes_of
from domain.pods.directory_document import pod_of

CALL_TIMEOUT: Final = 5.0
"""Seconds that a call may take: who claims a name has a person waiting."""
READ_MARGIN: Final = 15.0
"""How much longer than it asked for a request for changes may be held."""
MAX_IDS: Final = 1_000
"""So many ids are told in one call."""
_ERRORS: Final[Mapping[int, type[PerdureError]]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Refused,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Invalid,
}


@dataclass(frozen=True, slots=True)
class PlacedName:
    """The pod that a confirmed path is of, and whether a person has it rather than an organisation."""

    pod_number: int
    is_person: bool


class DirectoryClient:
    """The directory at an address; an async context manager.

    Every method raises `Unavailable` while the directory is away, `Unauthenticated` and `Forbidden` for what is shown.
    """

    def __init__(self, url: str, token: Callable[[], str], transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`token` gives what is shown with each call: a pod signs a new one, others have one that stays."""
        self._token = token
        # The authorities of this machine: the certificate of a directory is often signed by its operators' own.
        trusted = ssl.create_default_context() if url.startswith("https:") else False
        self._http = httpx.AsyncClient(
            base_url=url, transport=transport, timeout=CALL_TIMEOUT, trust_env=False, verify=trusted
        )

    async def __aenter__(self) -> Self:
        """Ready for calls."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def changes(self, epoch: str = "", after: int = 0, wait: float = 0) -> Changes:
        """What has changed since a version of an epoch, held for `wait` seconds until there is something."""
        query = {"epoch": epoch, "after": after, "wait": wait}
        return changes_of(await self._call("GET", "/v1/directory", params=query, timeout=wait + READ_MARGIN))

    async def claim(self, claim_id: UUID, kind: ClaimKind, name: str, pod_number: int) -> Claim:
        """Phase one: from now on nobody else gets the name. Raises `Taken`, `Refused`, `Invalid`."""
        body = {"kind": kind.value, "name": name, "pod": pod_number}
        return _claim(await self._call("PUT", f"/v1/claims/{claim_id}", json=body))

    async def confirm(self, claim_id: UUID, organisation_id: int | None = None) -> Claim:
        """Phase two, after one's own write was committed. Raises `NotFound`, `Refused`."""
        body = {"organisation_id": organisation_id}
        return _claim(await self._call("POST", f"/v1/claims/{claim_id}/confirm", json=body))

    async def release(self, claim_id: UUID) -> None:
        """The name is free again; also where it was never taken."""
        await self._call("DELETE", f"/v1/claims/{claim_id}")

    async def claims(self, pod_number: int, state: ClaimState | None = None) -> AsyncIterator[Claim]:
        """Claims of a pod, page by page in the order of their ids; without `state` all that hold a name."""
        query: dict[str, Any] = {"pod": pod_number} if state is None else {"pod": pod_number, "state": state.value}
        after = ""
        while page := await self._call("GET", "/v1/claims", params={**query, "after": after}):
            for document in page:
                yield _claim(document)
            after = page[-1]["claim_id"]

    async def placed(self, path: str) -> PlacedName:
        """Where a path lives, and whose it is. Raises `NotFound` where nobody has it, `Invalid` for what is none."""
        document = await self._call("GET", f"/v1/names/{quote(path, safe='')}")
        try:
            return PlacedName(document["pod"], document["organisation_id"] is None)
        except (LookupError, TypeError) as error:
            raise Invalid(f"The directory answered with what is no name: {error}.") from error

    async def put_pod(self, number: int, **fields: Any) -> Pod:
        """Make a pod or change it: `name`, `address`, `weight`, `state`, `public_keys` (a JWK Set).

        A pod may change address and public keys of itself. Raises `NotFound`, `Refused`, `Invalid`.
        """
        return pod_of("pod", await self._call("PUT", f"/v1/pods/{number}", json=fields))

    async def remove_pod(self, number: int) -> None:
        """Take a pod out for ever. Raises `NotFound`, and `Refused` while it has claims."""
        await self._call("DELETE", f"/v1/pods/{number}")

    async def move(self, path: str, pod_number: int, expected: int) -> Claim:
        """The organisation with this path leaves the `expected` pod for another one. Raises `NotFound`, `Refused`."""
        body = {"pod": pod_number, "expected": expected}
        return _claim(await self._call("PUT", f"/v1/organisations/{quote(path, safe='')}", json=body))

    async def own(self, path: str, kind: IdKind, ids: Sequence[int]) -> None:
        """These ids are of what belongs to the organisation with this path. Raises `NotFound`, `Refused`."""
        for start in range(0, len(ids), MAX_IDS):
            body = {"kind": kind.value, "ids": list(ids[start : start + MAX_IDS])}
            await self._call("PUT", f"/v1/organisations/{quote(path, safe='')}/ids", json=body)

    async def _call(self, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self._token()}"}
        try:
            try:
                response = await self._http.request(method, path, headers=headers, **options)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                # A kept connection to a service that was started again; calls may be repeated.
                response = await self._http.request(method, path, headers=headers, **options)
        except httpx.HTTPError as error:
            raise Unavailable(f"The directory is away ({type(error).__name__}); try again in a few seconds.") from error
        return _content(response)


def _content(response: httpx.Response) -> Any:
    """What a response says. Raises the error that it tells."""
    if response.status_code == HTTPStatus.NO_CONTENT:
        return None
    try:
        document = response.json()
    except ValueError as error:
        raise Unavailable(f"The directory answered {response.status_code} without JSON.") from error
    if response.status_code == HTTPStatus.OK:
        return document
    said = document if isinstance(document, dict) else {}
    if response.status_code == HTTPStatus.CONFLICT and isinstance(said.get("own"), bool):
        raise Taken(said["own"])
    kind = _ERRORS.get(response.status_code)
    if kind is None:
        raise Unavailable(f"The directory answered {response.status_code}: {said.get('message')}")
    raise kind(str(said.get("message")))


def _claim(document: Any) -> Claim:
    try:
        return Claim(
            document["claim_id"],
            ClaimKind(document["kind"]),
            document["name"],
            document["pod"],
            ClaimState(document["state"]),
            document["organisation_id"],
        )
    except (ValueError, LookupError, TypeError) as error:
        raise Invalid(f"The directory answered with what is no claim: {error}.") from error
