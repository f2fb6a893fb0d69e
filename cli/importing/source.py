"""The server that a project comes from: only read, and only by calls to the address that was named."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import typer

from cli.importing.patient_api import PatientApi
from cli.output import Output
from cli.remote.place import checked_server, checked_token
from domain.errors import Forbidden, Invalid, NotFound, Unauthenticated
from domain.project_import.left_behind import Tally
from domain.project_import.places import clone_url, reference_of

TOKEN: Final = "PERDURE_SOURCE_TOKEN"  # noqa: S105  # the name of a variable
SCOPES: Final = "`read_api` and `read_repository`"
"""What a token for the source must open."""
_FIRST: Final = 20
"""Items that are read of a list that is only counted."""


def source_address(text: str) -> str:
    """The address of the source. Raises `Invalid`, also for one with a password in it."""
    url = checked_server(text)
    if "@" in urlsplit(text if "://" in text else f"https://{text}").netloc:
        raise Invalid(f"The address of the source holds a user or password. Give {url}, and the token by {TOKEN}.")
    return url


def source_token(out: Output, url: str, environment: Mapping[str, str], *, stdin: bool) -> str:
    """The token for the source: from standard input, the environment, or typed unseen. Raises `Invalid`."""
    token = sys.stdin.readline() if stdin else environment.get(TOKEN, "")
    if not token.strip():
        if stdin or not out.may_ask:
            raise Invalid(f"The token for {url} is missing. Set {TOKEN}, or add `--source-token-stdin < FILE`.")
        token = str(typer.prompt(f"Access token for {url} (scopes {SCOPES})", hide_input=True, err=True))
    return checked_token(token)


class Source:
    """A project of the source; `project` is its document."""

    def __init__(self, url: str, token: str, *, patience: float, told: Callable[[str], None]) -> None:
        """Read with a personal, group or project access token."""
        self.url = url
        self.token = token
        advice = {
            Unauthenticated: f"The token for the source is wrong or has ended. Make one at {url} with {SCOPES}.",
            Forbidden: f"The token for the source needs {SCOPES}, and the role maintainer or owner.",
        }
        self._api = PatientApi(url, token, advice=advice, patience=patience, told=told)
        self.project: dict[str, Any] = {}

    def close(self) -> None:
        """Give the connections back."""
        self._api.close()

    def find(self, project: str) -> None:
        """Find the project that a path, an id or an address names. Raises `NotFound`."""
        reference = reference_of(project, self.url)
        try:
            self.project = self._api.get(f"/projects/{quote(reference, safe='')}", statistics="true")
        except NotFound as error:
            text = f"There is no project {reference} on {self.url}, or the token for it may not see it ({error})."
            raise NotFound(text) from error

    @property
    def path(self) -> str:
        """Full path of the project."""
        return str(self.project["path_with_namespace"])

    @property
    def clone_url(self) -> str:
        """The address of its repository."""
        return clone_url(self.url, self.path)

    @property
    def group(self) -> str:
        """Full path of its group; empty for one in somebody's own namespace."""
        own = (self.project.get("namespace") or {}).get("kind") == "user"
        return "" if own else self.path.rpartition("/")[0]

    def get(self, route: str) -> dict[str, Any]:
        """Something of the project."""
        found: dict[str, Any] = self._api.get(f"/projects/{self.project['id']}{route}")
        return found

    def listed(self, route: str) -> list[dict[str, Any]]:
        """A whole list of the project."""
        return self._api.listed(f"/projects/{self.project['id']}{route}")

    def counted(self, route: str, query: Mapping[str, str]) -> Tally:
        """How many a list of the project has, and its first items."""
        first, count, exact = self._api.counted(f"/projects/{self.project['id']}{route}", _FIRST, **query)
        return Tally(count, first, at_least=not exact)

    def group_at(self, path: str) -> dict[str, Any]:
        """A group."""
        found: dict[str, Any] = self._api.get(f"/groups/{quote(path, safe='')}", with_projects="false")
        return found

    def variables_of_group(self, path: str) -> list[dict[str, Any]]:
        """The variables of a group."""
        return self._api.listed(f"/groups/{quote(path, safe='')}/variables")
