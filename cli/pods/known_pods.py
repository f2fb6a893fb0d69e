"""Which pods a command is about that asks all of them."""

import asyncio
from pathlib import Path

from cli.main import read_settings
from domain.errors import Invalid
from domain.pods.directory import Pod
from pods.directory_file import read_directory
from pods.directory_follower import CACHE, look_up
from pods.embedded_pods import further_pods


def known_pods(file: Path | None) -> list[Pod]:
    """The pods of a directory, by number.

    That of a file, else the one that the settings name (`PERDURE_DIRECTORY_URL`), else that of the pods of this home.
    Raises `Invalid` where there is none, or it has a pod without an address.
    """
    if file is None:
        settings = read_settings(of_home=True)
        if settings.directory.url:
            return _usable(asyncio.run(look_up(settings)).pods, settings.directory.url)
        file = settings.home / CACHE
        if not further_pods(settings.home):
            raise Invalid(
                "Which pods? Neither --directory nor PERDURE_DIRECTORY_URL says where their directory is, and "
                f"{settings.home.resolve()} has one pod only."
            )
    return _usable(read_directory(file).pods, str(file))


def _usable(pods: tuple[Pod, ...], place: str) -> list[Pod]:
    found = sorted(pods, key=lambda pod: pod.number)
    if nowhere := [pod.name for pod in found if not pod.address]:
        raise Invalid(f"{place} names no address of pod {', '.join(nowhere)}, so that it cannot be asked.")
    return found
