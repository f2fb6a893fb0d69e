"""The nearest right spelling of a word that is unknown."""

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Final

_MAX_WORD: Final = 60
_MAX_WORDS: Final = 3
_MAX_CANDIDATES: Final = 500
_MAX_COMPARED: Final = 10
_LIKENESS: Final = 0.75


def nearest(unknown: Sequence[str], known: Collection[str]) -> str:
    """The end of a message, `; did you mean \\`artifacts\\`?`, or nothing if no known word is near.

    Only the first few words are looked up, no long ones, and not in large sets: a text with a thousand mistakes must
    not cost much.
    """
    if len(known) > _MAX_CANDIDATES:
        return ""
    found: dict[str, None] = {}
    for word in unknown[:_MAX_WORDS]:
        if len(word) <= _MAX_WORD:
            candidates = list(islice(_alike(word, known), _MAX_COMPARED))
            found.update(dict.fromkeys(get_close_matches(word, candidates, n=1, cutoff=_LIKENESS)))
    return f"; did you mean {', '.join(f'`{word}`' for word in found)}?" if found else ""


def _alike(word: str, known: Collection[str]) -> Iterator[str]:
    """Words of about the same length and letters."""
    letters = set(word)
    for candidate in known:
        if abs(len(candidate) - len(word)) <= 2 and len(letters ^ set(candidate)) <= 4:
            yield candidate
