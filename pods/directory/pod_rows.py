"""SQL on the pods of the directory. Functions take a connection in a transaction."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from domain.pods.directory import Pod, PodState
from pods.directory.tables import PODS


def pods_since(connection: Connection, version: int) -> list[Pod]:
    """Pods that have changed since a version, removed ones too."""
    rows = connection.execute(select(PODS).where(PODS.c.version > version).order_by(PODS.c.number))
    return [_pod(row) for row in rows]


def find_pod(connection: Connection, number: int) -> Pod | None:
    """A pod by its number, a removed one too."""
    row = connection.execute(select(PODS).where(PODS.c.number == number)).one_or_none()
    return None if row is None else _pod(row)


def find_pod_by_name(connection: Connection, name: str) -> Pod | None:
    """A pod by its name, a removed one too."""
    row = connection.execute(select(PODS).where(PODS.c.name == name)).one_or_none()
    return None if row is None else _pod(row)


def count_by_state(connection: Connection) -> dict[PodState, int]:
    """How many pods there are in each state; those without any are left out."""
    rows = connection.execute(select(PODS.c.state, func.count()).group_by(PODS.c.state))
    return {PodState(state): count for state, count in rows}


def write_pod(connection: Connection, pod: Pod, version: int) -> None:
    """Keep a pod, new or changed."""
    values = {
        "name": pod.name,
        "address": pod.address,
        "weight": pod.weight,
        "state": pod.state.value,
        "public_keys": json.dumps(list(pod.public_keys)),
        "version": version,
    }
    done = connection.execute(update(PODS).where(PODS.c.number == pod.number).values(values))
    if not done.rowcount:
        connection.execute(insert(PODS).values(number=pod.number, **values))


def _pod(row: Row[Any]) -> Pod:
    keys: Sequence[Mapping[str, Any]] = json.loads(row.public_keys)
    return Pod(row.number, row.name, row.address, row.weight, PodState(row.state), tuple(keys))
