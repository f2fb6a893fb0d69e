"""Where a request goes: one decision for every router, by its header alone where that is possible (docs/pods.md).

Credentials decide first, since each opens one pod only; then the ticket of a runner that waits, the path, the sessions
of a browser, and for what is left the table of addresses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from domain.pods.addresses import Address, By, address_of, is_trigger, pod_in_path
from domain.pods.credentials import Shown, Unreadable, pod_of_ticket, pod_of_token, sessions_in, shown_by
from domain.pods.directory import Directory
from domain.pods.token_prefixes import JOB

TOKEN: Final = "token"  # noqa: S105  # where one is, not one
PERSON: Final = "username"
"""Fields of bodies that are read."""


@dataclass(frozen=True, slots=True)
class Head:
    """The header of a request: `path` as it was sent, without the query; names of `headers` in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ToPod:
    """To the pod with this number."""

    pod: int
    why: str


@dataclass(frozen=True, slots=True)
class ToAll:
    """To all pods, and one response of theirs."""

    why: str


@dataclass(frozen=True, slots=True)
class ToRouter:
    """The router answers itself."""

    why: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """No pod hears of it: the router answers with this status."""

    status: int
    why: str


@dataclass(frozen=True, slots=True)
class NeedsBody:
    """The body has what decides, in this field: a name, or a token.

    `otherwise` is where a call goes whose body is not read, or shows no token of a job: it needs none.
    Source: docs/reference/runner-protocol.md, "Every call".
    """

    why: str
    field: str = TOKEN
    otherwise: ToPod | Refusal | None = None


Decision: TypeAlias = ToPod | ToAll | ToRouter | NeedsBody | Refusal

BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
NOT_FOUND: Final = 404


def decide(head: Head, directory: Directory) -> Decision:
    """Where a request goes, from its header; `NeedsBody` where that is not enough."""
    address = address_of(head.method, head.path)
    if address.by is By.ALL:
        return ToAll(By.ALL.value)
    if address.by is By.ROUTER:
        return ToRouter(By.ROUTER.value)
    if address.by is By.PODS:
        return Refusal(NOT_FOUND, By.PODS.value)
    shown = [one for one in shown_by(head.headers, directory) if one.pod is not Unreadable.FOREIGN]
    if shown:
        return _by_tokens(shown, directory)
    if address.by is By.BODY:
        # The ticket of a runner whose organisation has moved names the pod where it was; its token knows.
        ticket = None if directory.moved else pod_of_ticket(head.headers)
        return NeedsBody(By.BODY.value) if ticket is None else _to(ticket, "the ticket of the runner", directory)
    if address.by is By.JOB and directory.moved:
        # Ids of jobs are too many to be told one by one; what is handed out is signed by the pod that has the job.
        return NeedsBody(By.BODY.value)
    if address.by is By.PERSON:
        return NeedsBody(By.PERSON.value, PERSON)
    by_path = _without_token(address, head, directory)
    return NeedsBody(By.TRIGGER.value, otherwise=by_path) if is_trigger(head.method, head.path) else by_path


def decide_by_body(token: str, directory: Directory, asked: NeedsBody = NeedsBody(By.BODY.value)) -> Decision:
    """Where a request goes whose body has this in the field that was `asked` for; empty for nothing."""
    if asked.otherwise is not None and not token.startswith(JOB):
        return asked.otherwise
    if asked.field == PERSON:
        home = directory.organisations.get(token.strip().lower())
        return ToPod(directory.first.number if home is None else home, By.PERSON.value)
    if not token:
        return ToPod(directory.first.number, "no token in header or body: any pod refuses it")
    return _by_token(Shown("token in the body", pod_of_token(token, directory)), directory)


def _by_tokens(shown: list[Shown], directory: Directory) -> Decision:
    pods = {one.pod for one in shown}
    if len(pods) > 1:
        return Refusal(BAD_REQUEST, f"{shown[0].place} and {shown[1].place} name different pods")
    return _by_token(shown[0], directory)


def _by_token(shown: Shown, directory: Directory) -> Decision:
    if shown.pod is Unreadable.MISTYPED:
        return Refusal(UNAUTHORIZED, f"{shown.place}: {shown.pod.value}")
    if shown.pod is Unreadable.FOREIGN:
        return ToPod(directory.first.number, f"{shown.place}: {shown.pod.value}, as any pod will say")
    return _to(shown.pod, shown.place, directory)


def _without_token(address: Address, head: Head, directory: Directory) -> ToPod | Refusal:
    pod = pod_in_path(address, head.path, directory)
    if pod is not None:
        return _to(pod, address.by.value, directory)
    sessions = sessions_in(head.headers, directory)
    if sessions:
        return ToPod(sessions[0].pod, "the session of the browser")
    return ToPod(directory.first.number, By.ANY.value if address.by is By.ANY else "nothing in it names a pod")


def _to(pod: int, why: str, directory: Directory) -> ToPod | Refusal:
    """To a pod; where there is none of that number, all get one response, whatever they asked for."""
    if pod not in directory.by_number:
        return Refusal(NOT_FOUND, f"{why}: there is no such pod")
    return ToPod(pod, why)
