"""How large something may be, and the words for who brought more: what the limit is, who has set it, what to do.

A person who reads them in a job's log or a terminal knows neither our settings nor who runs the installation.
"""

from dataclasses import dataclass
from typing import Final

_UNITS: Final = ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """Bytes, and what set them; `remedy` is what somebody can do about it, as a sentence."""

    size: int
    set_by: str
    remedy: str = ""

    def exceeded(self, what: str, size: int | None = None) -> str:
        """The words for `what` that is larger; `size` is how many bytes it has where that is known."""
        has = f"has {in_words(size)}, and" if size is not None else "is too large:"
        limit = f"The limit is {self.set_by}."
        text = f"Request Entity Too Large: {what} {has} at most {in_words(self.size)} are taken. {limit}"
        return f"{text} {self.remedy}" if self.remedy else text


def in_words(size: int) -> str:
    """A number of bytes, exactly, and in a unit that people read."""
    unit = next((f" ({size / factor:.4g} {name})" for factor, name in _UNITS if size >= factor), "")
    return f"{size:,} byte{'' if size == 1 else 's'}{unit}"


def of_installation(setting: str, size: int, instead: str = "") -> SizeLimit:
    """A limit that is a setting of the whole installation; `instead` is what the reader can do themselves."""
    return SizeLimit(size, f"{setting} of this installation", f"Whoever runs it can raise that{instead}.")


def of_project(field: str, size: int) -> SizeLimit:
    """A limit that a project has of its own."""
    return SizeLimit(size, f"{field} of this project", "An administrator can change it, by `PUT /projects/:id`.")


def fixed(what: str, size: int, remedy: str = "") -> SizeLimit:
    """A limit that nobody can change."""
    return SizeLimit(size, f"that of {what}, and fixed", remedy)
