"""What this pod asks of another one, signed; which pod that is, the directory says."""

from typing import Any, Final, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from application.pods.cluster import Cluster
from auth.pod_calls import PodCall, service_token
from domain.errors import Unavailable
from domain.pods.directory import Pod, PodState

T = TypeVar("T")

PREFIX: Final = "/-/pods"
"""Doors for other pods: a router passes nothing on that begins so."""


async def ask(
    cluster: Cluster, number: int, method: str, path: str, response: TypeAdapter[T], message: Any = None
) -> T:
    """What the pod with this number answers. `path` is what stands behind `PREFIX`, `message` has the fields to send.

    Raises `Unavailable`, also for a pod that is not in the directory any more; `Invalid`, `Forbidden`, `Refused`.
    """
    pod = _known(cluster, number)
    body = b"" if message is None else orjson.dumps(message)
    call = PodCall(method, f"{PREFIX}{path}", body)
    token = service_token(cluster.rings[0], pod.name, call)
    content = await cluster.pods.call(pod, call.method, call.path, body, token)
    try:
        return response.validate_json(content)
    except ValidationError as error:
        raise Unavailable(f"Pod {pod.name} answered with what this version does not understand.") from error


def _known(cluster: Cluster, number: int) -> Pod:
    directory = cluster.directory
    pod = directory.by_number.get(number) if directory is not None else None
    if pod is None or pod.state is PodState.REMOVED:
        raise Unavailable(f"There is no pod {number} in the directory.")
    return pod
