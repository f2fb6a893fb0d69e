"""`{path:project}` in a page's address: the full path of a project, groups within groups included; `{name:owner}`."""

import re
from typing import Final

from starlette.convertors import Convertor, register_url_convertor

from domain.projects.path_names import RESERVED

CONVERTOR: Final = "project"
OWNER: Final = "owner"
_RESERVED: Final = "|".join(re.escape(name) for name in sorted(RESERVED))


class ProjectPath(Convertor[str]):
    """Two names or more; none is `-`, and the first one is none that the server keeps for itself."""

    regex = rf"(?!(?i:{_RESERVED})/)[^/]+(?:/(?!-(?:/|$))[^/]+)+"

    def convert(self, value: str) -> str:
        """The path as it is."""
        return value

    def to_string(self, value: str) -> str:
        """The path as it is."""
        return value


class OwnerPath(ProjectPath):
    """One name: that of a person or of a group."""

    regex = rf"(?!(?i:{_RESERVED})(?:/|$))[^/]+"


register_url_convertor(CONVERTOR, ProjectPath())
register_url_convertor(OWNER, OwnerPath())
