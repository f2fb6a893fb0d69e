"""Two pods behind one address: real servers, real connections, and a router that knows both."""

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from domain.pods.directory import Directory, Pod
from domain.pods.directory_document import document_of
from pods.front import routing
from rigs.ports import LOCAL, free_port
from settings import Settings
from tests.api.v4.site import Site, open_site, serving
from tests.deploy.front import Pods, front
from tests.pods.upstreams import front_settings

PODS = {"default": 0, "seven": 7}


@dataclass
class Cluster:
    """Pods with a runner, a person's token and an organisation each, and the address of the router."""

    url: str = ""
    sites: dict[int, Site] = field(default_factory=dict)
    runners: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, str] = field(default_factory=dict)
    servers: dict[int, AsyncExitStack] = field(default_factory=dict)

    async def fill(self, number: int) -> None:
        """Give a pod what is asked for here."""
        async with self.sites[number].client(self.sites[number].root) as client:
            runner = await client.post("/api/v4/user/runners", json={"runner_type": "instance_type"})
            token = await client.post("/api/v4/user/personal_access_tokens", json={"name": "t", "scopes": ["api"]})
        self.runners[number], self.tokens[number] = runner.json()["token"], token.json()["token"]


@asynccontextmanager
async def two_pods(
    folder: Path, migrated_file: Path, *, behind_nginx: bool = False, **chosen: Any
) -> AsyncIterator[Cluster]:
    """Two pods that serve, with `chosen` settings, and their router; with nginx in front of it, or without."""
    made = Cluster()
    async with AsyncExitStack() as stack:
        for name, number in PODS.items():
            home = folder / name
            home.mkdir()
            shutil.copy(migrated_file, home / "perdure.db")
            site = open_site(home, f"sqlite:///{home / 'perdure.db'}", pod=name, pod_number=number, **chosen)
            made.sites[number] = await stack.enter_async_context(site)
            await made.fill(number)
            made.servers[number] = await stack.enter_async_context(AsyncExitStack())
            await made.servers[number].enter_async_context(serving(made.sites[number]))
        pods = tuple(
            Pod(number, name, f"{LOCAL}:{made.sites[number].services.settings.api_port}")
            for name, number in PODS.items()
        )
        organisations = {(await site.path()).partition("/")[0]: number for number, site in made.sites.items()}
        settings: Settings = front_settings(probe_every=0.02, decisions_port=free_port(), behind=LOCAL)
        directory = Directory(1, pods, organisations)
        await stack.enter_async_context(routing(settings, directory))
        made.url = settings.url
        if behind_nginx:
            made.url = await stack.enter_async_context(_nginx(folder, directory, settings))
        yield made


def _nginx(folder: Path, directory: Directory, settings: Settings) -> AbstractAsyncContextManager[str]:
    file = folder / "pods.json"
    file.write_text(json.dumps(document_of(directory)))
    router, decisions = f"{LOCAL}:{settings.front_port}", f"{LOCAL}:{settings.front.decisions_port}"
    return front(folder / "nginx", pods=Pods(file, router, decisions))


async def call(cluster: Cluster, method: str, path: str, **options: Any) -> tuple[int, Any]:
    """Status and document of a call through the router."""
    async with aiohttp.ClientSession() as client, client.request(method, cluster.url + path, **options) as response:
        text = await response.text()
        return response.status, json.loads(text) if text.startswith(("{", "[")) else text
