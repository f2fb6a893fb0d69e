"""A commit made of actions on files: create, update, delete, move, chmod.

Source of the rules: GitLab's Commits API, "Create a commit with multiple files and actions".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.errors import Invalid
from git.command import run
from git.names import checked_path
from git.repository import Repository
from git.writing.object_writing import Entry, write_blobs
from git.writing.tree_editing import TreeEditor, checked_new_path

FILE_MODE: Final = "100644"
EXECUTABLE_MODE: Final = "100755"
CHANGED: Final = "The file has changed since you started editing it"
"""The words in which GitLab says that `last_commit_id` is not the last commit."""


class Kind(StrEnum):
    """What an action does; the values are GitLab's."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    MOVE = "move"
    CHMOD = "chmod"


@dataclass(frozen=True, slots=True)
class FileAction:
    """One action on the file at `path`.

    `content` is that of the file afterwards; of a file that is moved None keeps it. `executable` None keeps the mode.
    With `last_commit_id` nothing is done if another commit was the last one to change the file.
    """

    kind: Kind
    path: str
    content: bytes | None = None
    previous_path: str = ""
    executable: bool | None = None
    last_commit_id: str = ""

    @property
    def source(self) -> str:
        """Where the file is before the action."""
        return self.previous_path if self.kind is Kind.MOVE else self.path


async def tree_with(repository: Repository, sha: str | None, actions: Sequence[FileAction]) -> str:
    """The tree of a commit (or of nothing) with the actions done in their order; it is written, its id comes back.

    Raises `Invalid` for an action that cannot be done, and then for all of them; `Unavailable`.
    """
    for action in actions:
        checked_path(action.source)
        checked_new_path(action.path)
        await _require_unchanged(repository, sha, action)
    written = [action for action in actions if action.content is not None]
    blobs = dict(zip(map(id, written), await write_blobs(repository, _contents(written)), strict=True))
    editor = await TreeEditor.open(repository, sha, [path for one in actions for path in (one.path, one.source)])
    for action in actions:
        _carry_out(editor, action, blobs.get(id(action)))
    return await editor.write()


def _contents(actions: Sequence[FileAction]) -> list[bytes]:
    return [action.content for action in actions if action.content is not None]


def _carry_out(editor: TreeEditor, action: FileAction, blob: str | None) -> None:
    if action.kind is Kind.CREATE:
        editor.add(action.path, _changed(Entry(FILE_MODE, blob or ""), action, blob))
        return
    before = editor.file(action.source)
    if action.kind in {Kind.DELETE, Kind.MOVE}:
        editor.remove(action.source)
    if action.kind is Kind.MOVE:
        editor.add(action.path, _changed(before, action, blob))
    elif action.kind is not Kind.DELETE:
        editor.put(action.path, _changed(before, action, blob))


def _changed(before: Entry, action: FileAction, blob: str | None) -> Entry:
    mode = before.mode
    if action.executable is not None:
        mode = EXECUTABLE_MODE if action.executable else FILE_MODE
    return Entry(mode, blob or before.sha)


async def _require_unchanged(repository: Repository, sha: str | None, action: FileAction) -> None:
    if not action.last_commit_id or sha is None or action.kind is Kind.CREATE:
        return
    if await last_commit_of(repository, sha, action.source) != action.last_commit_id:
        raise Invalid(f"{CHANGED}: {action.source}")


async def last_commit_of(repository: Repository, sha: str, path: str) -> str:
    """The last commit up to `sha` that changed a path; empty when none ever did."""
    git = ["--literal-pathspecs", f"--git-dir={repository.path}", "rev-list", "-1", sha, "--", checked_path(path)]
    return (await run(git)).out.decode("ascii", "replace").strip()
