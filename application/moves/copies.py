"""What an organisation has beside its rows: objects of the store and repositories, copied as often as need be."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass

from application.moves.pod_place import PodPlace
from domain.errors import NotFound, Unavailable
from git.transport.copying import all_refs, copy_all
from models.repositories.artifacts import unused_objects
from models.repositories.moves.stored_objects import StoredObject


@dataclass(slots=True)
class Copies:
    """What was looked at: `copied` are the objects that were not there yet, `missing` those that nobody has."""

    objects: int = 0
    copied: int = 0
    missing: int = 0
    repositories: int = 0
    refs: int = 0


async def copy_objects(source: PodPlace, target: PodPlace, objects: AsyncIterator[StoredObject], done: Copies) -> None:
    """Bring objects to the target, those that are there stay. Raises `Unavailable`."""
    doomed = await _doomed(target)
    async for one in objects:
        done.objects += 1
        try:
            size = await source.store.size(one.key)
        except NotFound:
            # It was removed since its row was read, or is expired: readers are told so here as there.
            done.missing += 1
            continue
        if one.key in doomed:
            await _spare(target, one.key)
        if one.key in doomed or not await has(target, one.key, size):
            await (_copy_sealed if one.is_sealed else _copy)(source, target, one.key)
            done.copied += 1


async def _doomed(place: PodPlace) -> set[str]:
    """Objects that a pod is about to remove: those of an organisation that has left it, and comes back."""
    async with place.database.read() as connection:
        return await unused_objects.doomed_keys(connection)


async def _spare(place: PodPlace, key: str) -> None:
    async with place.database.write() as connection:
        await unused_objects.forget(connection, [key])


async def has(place: PodPlace, key: str, size: int) -> bool:
    """Whether a place has an object of this size; objects come whole or not at all, and are never changed."""
    try:
        return await place.store.size(key) == size
    except NotFound:
        return False


async def _copy(source: PodPlace, target: PodPlace, key: str) -> None:
    digest = hashlib.sha256()

    async def passed() -> AsyncIterator[bytes]:
        async for chunk in source.store.read(key):
            digest.update(chunk)
            yield chunk

    stored = await target.store.put(key, passed())
    if stored.sha256 != digest.hexdigest():
        raise Unavailable(f"Object {key} came to pod {target.name} as something else; run the move again.")


async def _copy_sealed(source: PodPlace, target: PodPlace, key: str) -> None:
    """A secure file is sealed by the key of its pod, for the key of the object; it is small."""
    sealed = b"".join([chunk async for chunk in source.store.read(key)])
    content = await asyncio.to_thread(source.sealer.open_bytes, sealed, key)
    await target.store.put(key, await asyncio.to_thread(target.sealer.seal_bytes, content, key))


async def copy_repositories(source: PodPlace, target: PodPlace, project_ids: Collection[int], done: Copies) -> None:
    """Bring every ref of these projects to the target; one without a repository gets none. Raises `Unavailable`."""
    for project_id in project_ids:
        try:
            repository = source.repositories.get(project_id)
        except NotFound:
            continue
        copy = await target.repositories.create(project_id, "main")
        done.refs += await copy_all(repository, copy)
        done.repositories += 1


async def check_repositories(source: PodPlace, target: PodPlace, project_ids: Collection[int]) -> None:
    """Raise `Unavailable` for a repository whose refs name anything else in the target."""
    for project_id in project_ids:
        try:
            there = await all_refs(source.repositories.get(project_id))
        except NotFound:
            continue
        if there != await all_refs(target.repositories.get(project_id)):
            raise Unavailable(
                f"The repository of project {project_id} changed while it was compared; run the move again."
            )


async def check_objects(source: PodPlace, target: PodPlace, objects: AsyncIterator[StoredObject]) -> int:
    """Raise `Unavailable` for an object that the source has and the target has not; how many there are."""
    count = 0
    async for one in objects:
        try:
            size = await source.store.size(one.key)
        except NotFound:
            continue
        count += 1
        if not await has(target, one.key, size):
            raise Unavailable(f"Object {one.key} is not in pod {target.name}; run the move again.")
    return count
