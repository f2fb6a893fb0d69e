"""The directory as JSON: what a router is given, and keeps on disk.

Fields that are not known are passed over: a newer directory may say more than this version reads (docs/pods.md,
"Versions").
"""

from collections.abc import Mapping
from typing import Any, Final

from domain.errors import Invalid
from domain.pods.directory import DEFAULT_WEIGHT, MAX_POD_NUMBER, Directory, IdKind, Pod, PodState, placed
from domain.pods.pod_fields import keys_in

_FIELDS: Final = frozenset({"version", "pods", "organisations", "moved"})
_POD_FIELDS: Final = frozenset({"number", "name", "address", "weight", "state", "public_keys"})
_STATES: Final = (PodState.ACTIVE, PodState.DRAINING)
"""Of pods that a directory has."""


def document_of(directory: Directory) -> dict[str, Any]:
    """`version`, `pods`, `organisations` by path and `moved` by id, both to numbers; `owners` where something moved."""
    document: dict[str, Any] = {
        "version": directory.version,
        "pods": [document_of_pod(pod) for pod in directory.pods],
        "organisations": dict(directory.organisations),
        "moved": {str(organisation_id): number for organisation_id, number in directory.moved.items()},
    }
    return document | document_of_owners(directory.owners)


def document_of_owners(owners: Mapping[IdKind, Mapping[int, int]]) -> dict[str, Any]:
    """`owners` by kind and id; nothing where nothing has moved, since the first version does not know the field."""
    found = {str(kind): {str(key): owner for key, owner in ids.items()} for kind, ids in owners.items() if ids}
    return {"owners": found} if found else {}


def owners_of(document: object) -> dict[IdKind, dict[int, int]]:
    """The organisations by kind and id that `owners` of a document names; kinds that are not known are passed over.

    Raises `Invalid`.
    """
    if not isinstance(document, dict):
        raise Invalid("owners: must be an object.")
    found: dict[IdKind, dict[int, int]] = {}
    for kind, ids in document.items():
        if kind not in set(IdKind):
            continue
        if not isinstance(ids, dict) or not all(key.isdecimal() for key in ids):
            raise Invalid(f"owners.{kind}: must be an object by ids.")
        found[IdKind(kind)] = {int(key): _number(f"owners.{kind}.{key}", owner) for key, owner in ids.items()}
    return found


def document_of_pod(pod: Pod) -> dict[str, Any]:
    """`number`, `name`, `address`, and of `weight`, `state` and `public_keys` (a JWK Set) what is not as usual."""
    document: dict[str, Any] = {"number": pod.number, "name": pod.name, "address": pod.address}
    if pod.weight != DEFAULT_WEIGHT:
        document["weight"] = pod.weight
    if pod.state is not PodState.ACTIVE:
        document["state"] = str(pod.state)
    if pod.public_keys:
        document["public_keys"] = {"keys": [dict(key) for key in pod.public_keys]}
    return document


def directory_of(document: object) -> Directory:
    """The directory that a document describes; `organisations` and `moved` may be missing. Raises `Invalid`."""
    if not isinstance(document, dict) or not document.keys() >= {"version", "pods"}:
        raise Invalid(
            f"A directory is an object with {', '.join(sorted(_FIELDS))}, the last two of which may be missing."
        )
    if not isinstance(document["pods"], list):
        raise Invalid("pods: must be a list.")
    pods = tuple(pod_of(f"pods[{place}]", entry) for place, entry in enumerate(document["pods"]))
    known = {pod.number for pod in pods}
    organisations = _numbers("organisations", document.get("organisations", {}), known)
    moved = _numbers("moved", document.get("moved", {}), known)
    if wrong := [key for key in moved if not key.isdecimal()]:
        raise Invalid(f"moved.{wrong[0]}: must be the id of an organisation.")
    try:
        return Directory(
            _number("version", document["version"]),
            pods,
            placed(organisations.items()),
            {int(key): number for key, number in moved.items()},
            owners_of(document.get("owners", {})),
        )
    except ValueError as error:
        raise Invalid(f"pods: {error}") from error


def pod_of(where: str, entry: object) -> Pod:
    """The pod that an entry of `pods` describes; `where` it stands. Raises `Invalid`."""
    if not isinstance(entry, dict) or not entry.keys() >= {"number", "name"}:
        others = ", ".join(sorted(_POD_FIELDS - {"number", "name"}))
        raise Invalid(f"{where}: must be an object with number, name and, perhaps, {others}.")
    number, name, address = _number(f"{where}.number", entry["number"]), entry["name"], entry.get("address", "")
    if number > MAX_POD_NUMBER:
        raise Invalid(f"{where}.number: is {number}, {MAX_POD_NUMBER} at most.")
    if not isinstance(name, str) or not name or not isinstance(address, str):
        raise Invalid(f"{where}: name must be a text that is not empty, address a text.")
    weight = _number(f"{where}.weight", entry.get("weight", DEFAULT_WEIGHT))
    state = entry.get("state", PodState.ACTIVE)
    if state not in _STATES:
        raise Invalid(f"{where}.state: must be {' or '.join(_STATES)}.")
    keys = keys_in(f"{where}.public_keys", entry.get("public_keys", {"keys": []}))
    return Pod(number, name, address, weight, PodState(state), keys)


def _numbers(where: str, entries: object, known: set[int]) -> Mapping[str, int]:
    if not isinstance(entries, dict):
        raise Invalid(f"{where}: must be an object.")
    for key, number in entries.items():
        if _number(f"{where}.{key}", number) not in known:
            raise Invalid(f"{where}.{key}: there is no pod {number} among pods.")
    return entries


def _number(where: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Invalid(f"{where}: must be a whole number from 0.")
    return value
