"""The pods of a home, as its directory is to know them."""

import asyncio

from application.pods.cluster import public_keys
from auth.key_ring import Purpose, open_ring
from pods.directory_client import DirectoryClient
from pods.directory_tokens import tokens_in
from pods.embedded_pods import address_of, all_settings
from settings import Settings


def register_pods(settings: Settings) -> None:
    """Tell the directory of the pods of this home where they are, and by which keys they sign; it may know already.

    Nothing is to be told where there is one pod. Raises `Unavailable`, `Unauthenticated`.
    """
    pods = all_settings(settings)
    if len(pods) > 1:
        asyncio.run(_register(pods))


async def _register(pods: tuple[Settings, ...]) -> None:
    first = pods[0]
    token = first.directory.token or tokens_in(first.home).admin
    async with DirectoryClient(first.directory_url, lambda: token) as client:
        for pod in pods:
            keys = public_keys([open_ring(pod, purpose) for purpose in Purpose])
            await client.put_pod(pod.pod_number, name=pod.pod, address=address_of(pod), public_keys=keys)
