"""The list of an archive as JSON: one folder, or all below it."""

from collections.abc import Iterable

from typing_extensions import TypedDict

from storage.zip_directory import Entry


class ArchiveEntryResponse(TypedDict):
    """A file or a folder of an archive; a folder has no size."""

    name: str
    path: str
    type: str
    size: int | None


def tree(entries: Iterable[Entry], folder: str, *, recursive: bool = False) -> list[ArchiveEntryResponse]:
    """What is in `folder` (empty: the archive itself), by path.

    With `recursive` all entries below it. Without, its folders are there even if no entry of the archive names them.
    """
    prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
    found: dict[str, ArchiveEntryResponse] = {}
    for entry in entries:
        inner = entry.name.removeprefix(prefix).rstrip("/")
        if not entry.name.startswith(prefix) or not inner:
            continue
        first, is_deeper, _ = inner.partition("/")
        path = prefix + (inner if recursive else first)
        is_folder = entry.is_folder or (bool(is_deeper) and not recursive)
        found.setdefault(path, _item(path, None if is_folder else entry.size))
    return [found[path] for path in sorted(found)]


def _item(path: str, size: int | None) -> ArchiveEntryResponse:
    kind = "directory" if size is None else "file"
    return {"name": path.rpartition("/")[2], "path": path, "type": kind, "size": size}
