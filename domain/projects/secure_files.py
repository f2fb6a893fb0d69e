"""What a project may keep as secure files: how large, how many, under which names.

Source: GitLab: "Project-level Secure Files" (5 MB a file, 100 files a project, names that are unique).
"""

from typing import Final

from domain.errors import FieldsInvalid, Invalid
from domain.size_limits import SizeLimit, fixed

MAX_FILES: Final = 100
"""Of one project."""
LIMIT: Final[SizeLimit] = fixed("secure files", 5 * 1024 * 1024, "Keep what is larger in a store of your own.")
_MAX_NAME: Final = 255
_FORBIDDEN: Final = frozenset("/\\")


def checked_name(name: str) -> str:
    """The same name. Raises `Invalid` for one that a job could not give a file in a folder of its own."""
    if not name:
        raise Invalid("name is missing")
    if name in {".", ".."} or _FORBIDDEN.intersection(name) or not name.isprintable() or len(name) > _MAX_NAME:
        raise FieldsInvalid(
            name=f"is invalid: it must be that of a file without a folder, of at most {_MAX_NAME} characters."
        )
    return name


def check_room(name: str, count: int, *, is_taken: bool) -> None:
    """Raise `Invalid` where a project of `count` files may have no further one, or has one of this name."""
    if is_taken:
        raise FieldsInvalid(name=f"is invalid: the project has a secure file {name}; remove that one first.")
    if count >= MAX_FILES:
        raise Invalid(f"A project has {MAX_FILES} secure files at most; remove one of them first.")
