"""`perdure pod list|show|drain|resume|remove`: the pods as the directory has them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from cli.json_option import JsonOption
from cli.main import read_settings
from cli.output import Output
from domain.errors import Invalid, NotFound, Refused
from domain.pods.directory import BLOCK_BITS, Directory, Pod, PodState
from domain.pods.directory_changes import applied
from domain.pods.directory_document import document_of_pod
from pods.directory_client import DirectoryClient
from pods.directory_tokens import FILE, tokens_in
from pods.embedded_pods import address_of, all_settings, retire
from settings import Settings

NameArgument = Annotated[str, typer.Argument(help="The pod's name.")]
_SHOWN: Final = 20
"""So many organisations are named in a message."""


@dataclass(frozen=True, slots=True)
class Known:
    """The directory of now, and the way to it; without a client there is one pod, and no directory."""

    directory: Directory
    client: DirectoryClient | None = None

    def find(self, name: str) -> Pod:
        """Raises `NotFound`."""
        pod = self.directory.by_name.get(name)
        if pod is None:
            raise NotFound(f"There is no pod {name}, only {', '.join(sorted(self.directory.by_name))}.")
        return pod

    def service(self) -> DirectoryClient:
        """The directory itself. Raises `Refused` where there is none."""
        if self.client is None:
            raise Refused("There is one pod here, and no directory (PERDURE_DIRECTORY_URL) that could know of others.")
        return self.client

    def organisations_of(self, pod: Pod) -> list[str]:
        """Paths of what lives in a pod: top-level groups, and people by their names."""
        return sorted(path for path, number in self.directory.organisations.items() if number == pod.number)


@asynccontextmanager
async def asked_directory(settings: Settings) -> AsyncIterator[Known]:
    """What the directory says, asked with its admin token. Raises `Unavailable`, `Unauthenticated`."""
    token = settings.directory.token
    if not token and (settings.home / FILE).exists():
        token = tokens_in(settings.home).admin
    if not token:
        if settings.directory.url:
            raise Invalid("PERDURE_DIRECTORY_TOKEN is not set: set it to the admin token of the directory.")
        listed = tuple(Pod(one.pod_number, one.pod, address_of(one)) for one in all_settings(settings))
        yield Known(Directory(0, listed))
        return
    async with DirectoryClient(settings.directory_url, lambda: token) as client:
        found = applied(None, await client.changes())
        if found is None:
            raise NotFound("The directory has no pods yet; `perdure pod create` makes one.")
        yield Known(found, client)


def list_pods(as_json: JsonOption = False) -> None:
    """List the pods: number, name, state, weight, where their APIs are, how many organisations live there."""
    settings = read_settings(of_home=True)

    async def found() -> Directory:
        async with asked_directory(settings) as known:
            return known.directory

    directory = asyncio.run(found())
    counts = Counter(directory.organisations.values())
    if as_json:
        Output().document([_document(pod, counts[pod.number]) for pod in directory.pods])
        return
    rows = [
        (str(pod.number), pod.name, str(pod.state), str(pod.weight), pod.address, str(counts[pod.number]))
        for pod in sorted(directory.pods, key=lambda pod: pod.number)
    ]
    Output().table(("number", "name", "state", "weight", "address", "names"), rows)


def show_pod(name: NameArgument, as_json: JsonOption = False) -> None:
    """Show what the directory has of a pod."""
    settings = read_settings(of_home=True)

    async def found() -> tuple[Pod, list[str]]:
        async with asked_directory(settings) as known:
            pod = known.find(name)
            return pod, known.organisations_of(pod)

    pod, paths = asyncio.run(found())
    if as_json:
        Output().document(_document(pod, len(paths)) | {"paths": paths})
        return
    first = pod.number << BLOCK_BITS
    fields = {
        "pod": f"{pod.name}, number {pod.number}",
        "state": str(pod.state),
        "weight": str(pod.weight),
        "APIs": pod.address or "-",
        "ids": f"{first} to {first + (1 << BLOCK_BITS) - 1}",
        "signs with": ", ".join(str(key.get("kid")) for key in pod.public_keys) or "-",
        "names": f"{len(paths)}: {_named(paths)}" if paths else "none",
    }
    Output().fields(fields)


def drain(name: NameArgument) -> None:
    """Let a pod hand out no more jobs, and get no new organisations; jobs that run go on to their end."""
    _set_state(name, PodState.DRAINING)
    typer.echo(f"Pod {name} hands out no more jobs; what runs there goes on. `perdure pod resume {name}` ends that.")


def resume(name: NameArgument) -> None:
    """Let a drained pod hand out jobs again."""
    _set_state(name, PodState.ACTIVE)
    typer.echo(f"Pod {name} hands out jobs again.")


def _set_state(name: str, state: PodState) -> None:
    settings = read_settings(of_home=True)

    async def change() -> None:
        async with asked_directory(settings) as known:
            await known.service().put_pod(known.find(name).number, state=state.value)

    asyncio.run(change())


def remove(
    name: NameArgument, yes: Annotated[bool, typer.Option("--yes", "-y", help="Say yes to every question.")] = False
) -> None:
    """Take a drained pod, in which no organisation lives, out of the cluster for ever; its data stays where it is."""
    settings = read_settings(of_home=True)
    count = asyncio.run(_remove(settings, name, Output(yes=yes)))
    folder = retire(settings, name)
    typer.echo(f"Pod {name} is removed, and {count} names are free. Its own name and number are never given again.")
    if folder is not None:
        typer.echo(f"Its data stays in {folder}, its histories in the namespace {name} of Temporal.")
        typer.echo("Next: `perdure up`, which goes on without it.")


async def _remove(settings: Settings, name: str, out: Output) -> int:
    """How many names were freed. Raises `Refused` for a pod in which somebody lives or works."""
    async with asked_directory(settings) as known:
        client, pod = known.service(), known.find(name)
        if pod.state is not PodState.DRAINING:
            raise Refused(f"Pod {name} is {pod.state}: `perdure pod drain {name}` first, and let its jobs end.")
        claims = [claim async for claim in client.claims(pod.number)]
        groups = [claim.name for claim in claims if claim.organisation_id is not None]
        if groups:
            raise Refused(f"In pod {name} live {_named(groups)}: remove or move them first.")
        if claims:
            out.confirm(f"Free {len(claims)} names of people of pod {name} ({_named([one.name for one in claims])})?")
        for claim in claims:
            await client.release(UUID(claim.claim_id))
        await client.remove_pod(pod.number)
        return len(claims)


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _document(pod: Pod, names: int) -> dict[str, Any]:
    return document_of_pod(pod) | {"state": pod.state.value, "weight": pod.weight, "names": names}
