"""What a new runner is to be like, whoever says so: a person, or the runner that registers itself."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from domain.errors import Invalid

_MAX_TAGS: Final = 50
_SHORTEST_TIMEOUT: Final = 600
_MAX_TIMEOUT: Final = 30 * 86_400


def _tags(value: Any) -> Any:
    """A list of tags, also from a text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        return items
    return list(dict.fromkeys(item.strip() for item in items if isinstance(item, str) and item.strip()))


def _few(tags: list[str]) -> list[str]:
    if len(tags) > _MAX_TAGS:
        raise ValueError(f"Too many tags specified. Please limit the number of tags to {_MAX_TAGS}")
    return tags


def _seconds(value: int) -> int:
    if not _SHORTEST_TIMEOUT <= value <= _MAX_TIMEOUT:
        raise ValueError("needs to be at least 10 minutes, and at most 30 days")
    return value


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain a NUL character")
    return value


Words = Annotated[str, AfterValidator(_without_nul)]
"""A text that a database can keep, and look for."""
Note = Annotated[Words, Field(max_length=1024)]
Tags = Annotated[list[Annotated[Words, Field(max_length=255)]], BeforeValidator(_tags), AfterValidator(_few)]
Timeout = Annotated[int, AfterValidator(_seconds)]
AccessLevel = Literal["not_protected", "ref_protected"]


class RunnerWishes(BaseModel):
    """What a new runner is to be like."""

    description: Note = ""
    run_untagged: bool = True
    tag_list: Tags = []
    locked: bool = False
    paused: bool = False
    maximum_timeout: Timeout | None = None
    access_level: AccessLevel = "not_protected"
    maintenance_note: Note = ""

    def columns(self) -> dict[str, Any]:
        """The columns to write. Raises `Invalid` for a runner that could take no job at all."""
        check_tags(self.tag_list, run_untagged=self.run_untagged)
        return {
            "description": self.description,
            "run_untagged": self.run_untagged,
            "tags": self.tag_list,
            "locked": self.locked,
            "paused": self.paused,
            "maximum_timeout": self.maximum_timeout,
            "ref_protected": self.access_level == "ref_protected",
            "maintenance_note": self.maintenance_note,
        }


def check_tags(tags: list[str], *, run_untagged: bool) -> None:
    """Raise `Invalid` for a runner that could take no job at all."""
    if not tags and not run_untagged:
        raise Invalid("tags list can not be empty when runner is not allowed to pick untagged jobs")
