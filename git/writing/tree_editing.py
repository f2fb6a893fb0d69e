"""Changing a few paths of a commit's tree: only the folders on the way to them are read and written."""

from collections.abc import Iterable
from typing import Final

from domain.errors import Invalid
from git.command import run
from git.names import checked_path
from git.output import PATHS_LIMIT
from git.repository import Repository
from git.writing.object_writing import EMPTY_TREE, TREE_MODE, Entry, tree_id, write_trees

_FORBIDDEN: Final = frozenset({".git", "git~1"})
"""Names that lead into the repository itself on some systems; git refuses to check them out."""
_ID: Final = 20
"""Bytes of an object's id inside a tree."""

FILE_THERE: Final = "A file with this name already exists"
FOLDER_THERE: Final = "A directory with this name already exists"
NO_FILE: Final = "A file with this name doesn't exist"
"""The words in which GitLab says it."""


def checked_new_path(path: str) -> str:
    """The same text; raises `Invalid` unless a file may be written at it."""
    checked_path(path)
    if any(part.lower() in _FORBIDDEN for part in path.split("/")):
        raise Invalid(f"invalid path: {path[:80]!r} leads into the repository's own files.")
    return path


class TreeEditor:
    """Folders of one commit, of those paths that are to be changed; `write` makes the tree with the changes."""

    def __init__(self, repository: Repository, folders: dict[str, dict[str, Entry]]) -> None:
        """`folders` are entries by name of every folder on the way, by its path; "" is the top."""
        self._repository = repository
        self._folders = folders

    @classmethod
    async def open(cls, repository: Repository, sha: str | None, paths: Iterable[str]) -> "TreeEditor":
        """An editor of a commit (or of nothing) for these paths, which must have been checked."""
        wanted = {""} | {folder for path in paths for folder in _above(path)}
        if sha is None:
            return cls(repository, {"": {}})
        ordered = sorted(wanted)
        questions = "".join(f"{sha}^{{tree}}\n" if not folder else f"{sha}:{folder}\n" for folder in ordered)
        git = [f"--git-dir={repository.path}", "cat-file"]
        form = "--batch-check=%(objecttype) %(objectname)"
        told = (await run([*git, form], questions.encode("utf-8", "surrogateescape"))).out
        ids = {
            folder: line.split(" ")[1]
            for folder, line in zip(ordered, told.decode("utf-8", "replace").split("\n"), strict=False)
            if line.startswith("tree ")
        }
        names = list(dict.fromkeys(ids.values()))
        raw = (await run([*git, "--batch"], "".join(f"{name}\n" for name in names).encode(), limit=PATHS_LIMIT)).out
        trees = _trees(raw)
        return cls(repository, {folder: dict(trees[name]) for folder, name in ids.items()})

    def get(self, path: str) -> Entry | None:
        """What is at a path."""
        folder, _, name = path.rpartition("/")
        return self._folders.get(folder, {}).get(name)

    def file(self, path: str) -> Entry:
        """The file at a path. Raises `Invalid` when there is none."""
        entry = self.get(path)
        if entry is None or not entry.is_file:
            raise Invalid(NO_FILE)
        return entry

    def add(self, path: str, entry: Entry) -> None:
        """Put a file where there is nothing yet. Raises `Invalid` when something is in its way."""
        there = self.get(path)
        if there is not None:
            raise Invalid(FOLDER_THERE if there.is_tree else FILE_THERE)
        for above in _above(path):
            on_the_way = self.get(above) if above else None
            if on_the_way is not None and not on_the_way.is_tree:
                raise Invalid(FILE_THERE)
            self._folders.setdefault(above, {})
        self.put(path, entry)

    def put(self, path: str, entry: Entry) -> None:
        """Put something in the place of what is at a path."""
        folder, _, name = path.rpartition("/")
        self._folders[folder][name] = entry
        while folder:
            # The id is found when the folder is written; until then the name is taken.
            above, _, own = folder.rpartition("/")
            self._folders[above].setdefault(own, Entry(TREE_MODE, EMPTY_TREE))
            folder = above

    def remove(self, path: str) -> None:
        """Take a file away, and with it the folders that hold nothing else."""
        folder, _, name = path.rpartition("/")
        del self._folders[folder][name]
        while folder and not self._folders[folder]:
            above, _, own = folder.rpartition("/")
            del self._folders[folder], self._folders[above][own]
            folder = above

    async def write(self) -> str:
        """Write the changed tree; its id. Raises `Unavailable`."""
        inner_first = sorted(self._folders, key=lambda folder: -folder.count("/") - bool(folder))
        for folder in inner_first:
            if folder:
                above, _, own = folder.rpartition("/")
                self._folders[above][own] = Entry(TREE_MODE, tree_id(self._folders[folder]))
        written = await write_trees(self._repository, [self._folders[folder] for folder in inner_first])
        return written[-1]


def _above(path: str) -> list[str]:
    """The folders on the way to a path, from the top, which is ""."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts))]


def _trees(raw: bytes) -> dict[str, dict[str, Entry]]:
    """What `cat-file --batch` told of trees: id to entries by name."""
    trees = {}
    position = 0
    while position < len(raw):
        end = raw.index(b"\n", position)
        name, _, size = raw[position:end].decode().split(" ")
        trees[name] = _entries(raw[end + 1 : end + 1 + int(size)])
        position = end + 1 + int(size) + 1
    return trees


def _entries(tree: bytes) -> dict[str, Entry]:
    entries = {}
    position = 0
    while position < len(tree):
        blank, end = tree.index(b" ", position), tree.index(b"\0", position)
        name = tree[blank + 1 : end].decode("utf-8", "surrogateescape")
        entries[name] = Entry(tree[position:blank].decode(), tree[end + 1 : end + 1 + _ID].hex())
        position = end + 1 + _ID
    return entries
