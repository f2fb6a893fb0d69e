"""The pods of one home: the first one lives in the home itself, each further one in a folder of its own below it.

A pod is there as soon as its `pods/NAME/pod.json` is, which says what it is and where it listens.
"""

import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from domain.errors import Invalid, Refused
from domain.pods.directory import MAX_POD_NUMBER, Directory, Pod
from domain.pods.directory_document import document_of
from domain.pods.identity import check_name
from files import durable
from pods.directory_file import read_directory
from pods.directory_follower import CACHE
from pods.directory_tokens import begin
from pods.loopback import LOOPBACK, family_of, front_check, near
from settings import Settings, host_in_url

FOLDER: Final = "pods"
FILE: Final = "pod.json"
REMOVED: Final = "removed-pod.json"
"""What `pod.json` is called of a pod that was removed: its number stays taken."""
PORTS: Final = ("api_port", "metrics_port", "temporal_client_metrics_port")
"""The ports that each pod has of its own."""
_STEP: Final = 10
"""The ports of pod n are those of the settings and n times this, where they are free when it is made."""


@dataclass(frozen=True, slots=True)
class EmbeddedPod:
    """A pod beside the first one. `ports` are in the order of PORTS."""

    number: int
    name: str
    ports: tuple[int, ...]


def further_pods(home: Path) -> tuple[EmbeddedPod, ...]:
    """The pods beside the first one, by their numbers. Raises `Invalid` for a file that is wrong."""
    found = [_read(file) for file in sorted((home / FOLDER).glob(f"*/{FILE}"))]
    return tuple(sorted(found, key=lambda pod: pod.number))


def removed_pods(home: Path) -> tuple[EmbeddedPod, ...]:
    """Pods that were further ones of this home until they were removed. Raises `Invalid`."""
    return tuple(_read(file) for file in sorted((home / FOLDER).glob(f"*/{REMOVED}")))


def all_settings(settings: Settings) -> tuple[Settings, ...]:
    """The settings of every pod of a home, the first one's at the beginning; of several they name their directory."""
    further = further_pods(settings.home)
    if not further:
        return (settings,)
    known = settings.directory.model_copy(update={"url": settings.directory_url})
    first = settings.model_copy(update={"directory": known})
    return (first, *(settings_of(first, pod) for pod in further))


def settings_of(settings: Settings, pod: EmbeddedPod) -> Settings:
    """The settings of a further pod, by those of the first one: nothing that either keeps is the other's."""
    home = settings.home / FOLDER / pod.name
    own = dict(zip(PORTS, pod.ports, strict=True))
    changed = settings.model_copy(
        update=own
        | {
            "home": home,
            "pod": pod.name,
            "pod_number": pod.number,
            "database_url": _with_end(settings.database_url, f"_{pod.name}".replace("-", "_")),
            "object_store": _with_end(settings.object_store, f"/{FOLDER}/{pod.name}"),
            "repositories": settings.repositories and settings.repositories / FOLDER / pod.name,
            "signing_key": "",
            "secrets_key": "",
            "temporal_namespace": "",
            "task_queue": "",
            "external_url": settings.url,
        }
    )
    return changed.model_copy(update={"front_check": front_check(changed)})


def home_of_processes(settings: Settings) -> Path:
    """The home whose supervisor runs the processes of a pod."""
    home = settings.home
    is_further = home.parent.name == FOLDER and (home / FILE).exists()
    return home.parent.parent if is_further else home


def add_pod(settings: Settings, name: str, number: int | None = None) -> EmbeddedPod:
    """Write down a further pod, or find the one of this name.

    Without `number` it gets the next one. Raises `Invalid` for a name, `Refused` for a name or number that is taken.
    """
    check_name(name)
    there = further_pods(settings.home)
    if name == settings.pod:
        raise Refused(f"Pod {name} is the first one of {settings.home.resolve()}: it needs no making.")
    known = next((pod for pod in there if pod.name == name), None)
    if known is not None:
        if number not in {None, known.number}:
            raise Refused(f"Pod {name} has the number {known.number}: its ids carry it for ever.")
        return known
    removed = removed_pods(settings.home)
    taken = {settings.pod_number: settings.pod, **{pod.number: pod.name for pod in (*there, *removed)}}
    if name in {pod.name for pod in removed}:
        raise Refused(f"Pod {name} was removed: its name and number are never given again.")
    chosen = max(taken) + 1 if number is None else number
    if chosen in taken:
        raise Refused(f"The number {chosen} is that of pod {taken[chosen]}.")
    if chosen > MAX_POD_NUMBER:
        raise Invalid(f"A pod cannot have the number {chosen}: {MAX_POD_NUMBER} at most.")
    pod = EmbeddedPod(chosen, name, tuple(_free_ports(settings, chosen)))
    folder = settings.home / FOLDER / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    durable.replace(folder / FILE, json.dumps(asdict(pod)).encode())
    return pod


def add_pods(settings: Settings, count: int) -> Sequence[EmbeddedPod]:
    """Make sure that the home has `count` pods, the first one counted; those that were made."""
    there = {pod.name for pod in further_pods(settings.home)} | {settings.pod}
    names = (name for number in range(1, MAX_POD_NUMBER) if (name := f"pod-{number}") not in there)
    return [add_pod(settings, next(names)) for _ in range(count - len(there))]


def retire(settings: Settings, name: str) -> Path | None:
    """Let a further pod be started no more; its folder, which keeps all it had. None for one that is elsewhere."""
    file = settings.home / FOLDER / name / FILE
    if not file.exists():
        return None
    file.rename(file.with_name(REMOVED))
    durable.sync_folder(file.parent)
    return file.parent.resolve()


def begin_directory(settings: Settings) -> None:
    """Make the tokens of the home's directory, and the copy of it with which its router begins.

    What the router has heard of organisations since stays in the copy.
    """
    begin(settings.home, settings.directory_url)
    listed = tuple(Pod(one.pod_number, one.pod, address_of(one)) for one in all_settings(settings))
    file = settings.home / CACHE
    known = read_directory(file) if file.exists() else Directory(0, listed)
    others = tuple(pod for pod in known.pods if pod.number not in {one.number for one in listed})
    kept = {pod.number: pod for pod in known.pods}
    pods = tuple(replace(kept.get(pod.number, pod), name=pod.name, address=pod.address) for pod in listed)
    copy = Directory(known.version, pods + others, known.organisations, known.moved, known.owners)
    if copy != known or not file.exists():
        durable.replace(file, json.dumps(document_of(copy)).encode())


def address_of(settings: Settings) -> str:
    """`host:port` of a pod's API."""
    return f"{host_in_url(near(settings))}:{settings.api_port}"


def _read(file: Path) -> EmbeddedPod:
    try:
        found = json.loads(file.read_text())
        pod = EmbeddedPod(int(found["number"]), str(found["name"]), tuple(int(port) for port in found["ports"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{file}: is no JSON with number, name and ports: {error}.") from error
    if pod.name != file.parent.name or len(pod.ports) != len(PORTS):
        raise Invalid(f"{file}: must name the folder it is in ({file.parent.name}), and {len(PORTS)} ports.")
    return pod


def _with_end(url: str, end: str) -> str:
    """The place of a further pod beside that of the first one; empty where that is the home."""
    if not url:
        return ""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + end))


def _free_ports(settings: Settings, number: int) -> Iterator[int]:
    for field in PORTS:
        wish: int = getattr(settings, field)
        host = near(settings) if field == "api_port" else LOOPBACK
        yield _free_port(host, wish + _STEP * number) if wish else 0


def _free_port(host: str, wish: int) -> int:
    """The port, or another one if somebody listens there now."""
    for port in (wish, 0):
        try:
            with socket.create_server((host, port), family=family_of(host)) as one:
                return int(one.getsockname()[1])
        except (OSError, OverflowError):
            continue
    raise Refused(f"No port of {host} is free.")
