"""Why a part of an installation cannot be used, in plain words instead of those of the library that met it."""

import errno
import os
import re
from collections.abc import Mapping
from typing import Final

NOBODY: Final = "nothing answers there"
MAX_LENGTH: Final = 160
"""Characters of a reason that no pattern knows."""
_REASONS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"certificate", "its certificate is not accepted"),
        (r"refused|connect call failed|unreachable|error sending request|tcp connect error", NOBODY),
        (r"name or service not known|name resolution|nodename|dns error|failed to lookup", "there is no such host"),
        (r"timed? ?out|deadline", "no answer in time"),
        (r"file is not a database|malformed", "the file is damaged, or no SQLite database"),
        (r"database is locked", "another process holds its lock"),
        (r"unable to open database file|permission denied", "we may not open it"),
        (
            r"password authentication|authentication failed|unauthenticated|access ?denied|forbidden|\b40[13]\b",
            "it refuses who we say we are",
        ),
        (r"namespace .*not found|database .* does not exist|no ?such ?bucket|\b404\b", "it has none of that name"),
        (r"no module named|can't load plugin|could not parse", "that is no kind of address we know"),
    )
)
"""What libraries write, and what it means; the first that fits counts."""


_OTHER_PLACE: Final = (
    "or choose another place: PERDURE_HOME is the folder of an installation, PERDURE_CONFIG your file."
)
_NEXT: Final[Mapping[int, str]] = {
    errno.EACCES: f"Run this as the user whose it is, {_OTHER_PLACE}",
    errno.EPERM: f"Run this as the user whose it is, {_OTHER_PLACE}",
    errno.EROFS: f"Let its disk be written to (`mount -o remount,rw`), {_OTHER_PLACE}",
    errno.ENOTDIR: f"Move the file away that is in the place of a folder, {_OTHER_PLACE}",
    errno.ENOSPC: f"Make room on its disk, {_OTHER_PLACE}",
    errno.EDQUOT: f"Make room, or have the quota raised, {_OTHER_PLACE}",
}
"""What to do about a file that cannot be written or read, by the system's number of the reason."""


def sentence_of(error: OSError) -> str:
    """What the system refused, of which file, and what to do about it."""
    if error.filename is None or error.strerror is None:
        return str(error)
    what, number = f"{os.fsdecode(error.filename)}: {error.strerror.lower()}.", error.errno or 0
    return f"{what} {_NEXT[number]}" if number in _NEXT else what


def reason_of(error: BaseException) -> str:
    """Why something failed; of what nobody knows, the end of the library's first line."""
    text = str(error).strip()
    found = next((words for pattern, words in _REASONS if pattern.search(text)), None)
    if found is not None:
        return found
    line = text.partition("\n")[0]
    return re.sub(r"^[\w.]*[(\[][^)\]]*[)\]]\s*", "", line)[:MAX_LENGTH] or "it failed without a word"
