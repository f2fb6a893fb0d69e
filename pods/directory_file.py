"""The directory of a cluster as a file of JSON (docs/pods.md)."""

import json
from pathlib import Path

from domain.errors import Invalid
from domain.pods.directory import Directory
from domain.pods.directory_document import directory_of


def read_directory(file: Path) -> Directory:
    """The directory in a file. Raises `Invalid`, which says where it is wrong."""
    try:
        return directory_of(json.loads(file.read_bytes()))
    except OSError as error:
        raise Invalid(f"{file}: cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise Invalid(f"{file}: is no JSON: {error}.") from error
    except Invalid as error:
        raise Invalid(f"{file}: {error}") from error
