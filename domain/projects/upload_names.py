"""The names of files that people put beside a project, and how they are written in Markdown.

Source: GitLab: "Project Markdown uploads API"; its `FileUploader` and CarrierWave for the names.
"""

import re
from pathlib import PurePosixPath
from typing import Final

from domain.errors import Invalid

SECRET_BYTES: Final = 16
SECRET: Final = re.compile(r"[0-9a-f]{32}")
_MAX_NAME: Final = 255
_OTHER: Final = re.compile(r"[^\w.+-]")
_SHOWN: Final = frozenset(
    "png jpg jpeg gif bmp tiff ico webp avif svg mp4 m4v mov webm ogv mp3 oga ogg spx wav".split()
)
"""Endings of what Markdown embeds instead of linking it."""


def upload_name(given: str) -> str:
    """The name under which a file is kept: without folders, other letters as `_`. Raises `Invalid`."""
    name = _OTHER.sub("_", re.split(r"[/\\]", given)[-1])
    if not name:
        raise Invalid("file is invalid: its part of the body has no filename.")
    if not name.strip("."):
        name = f"_{name}"
    if len(name.encode()) > _MAX_NAME:
        raise Invalid(f"file is invalid: its name has more than {_MAX_NAME} bytes.")
    return name


def in_markdown(name: str, address: str) -> tuple[str, str]:
    """How a file is called where it cannot be shown, and how Markdown links or embeds it."""
    embedded = PurePosixPath(name).suffix[1:].lower() in _SHOWN
    called = PurePosixPath(name).stem if embedded else name
    return called, f"{'!' if embedded else ''}[{called}]({address})"
