"""The server that a project goes to: its place there is made where it is missing, and things are made in it."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from cli.importing.patient_api import GaveUp, PatientApi
from cli.importing.report import Report
from cli.importing.source import Source
from domain.errors import Invalid, NotFound, PerdureError
from domain.project_import.places import Place, clone_url
from domain.project_import.plan import Item, Outcome, unchanged
from git.transport.transfer import Access


class Target:
    """A project here; until it is made all its lists are empty, as they stay in a dry run."""

    def __init__(self, api: PatientApi, token: str, report: Report) -> None:
        """Note in `report` what is done; that also says whether it is only tried."""
        self._api = api
        self._token = token
        self._report = report
        self._id = 0
        self.username = str(api.get("/user")["username"])

    def find(self, place: Place, source: Source) -> bool:
        """Find the project of this path; whether there is one. Raises `Invalid` for the source itself."""
        path = f"{place.group or self.username}/{place.name}"
        try:
            self._is(self._api.get(f"/projects/{quote(path, safe='')}"))
        except NotFound:
            self._report.project = {"path_with_namespace": path}
            return False
        if self._api.url == source.url and self._id == source.project["id"]:
            raise Invalid(f"{path} would be imported into itself. Say where it goes: `--to GROUP/NAME`.")
        self._report.carry(unchanged("project", path))
        return True

    def make(self, place: Place, source: Source) -> None:
        """Make the project, private or open as its source, and the groups above it that are missing."""
        group_id = self._made_groups(place, source)
        path = self._report.project["path_with_namespace"]
        wanted = {
            "name": source.project["name"],
            "path": place.name,
            "visibility": source.project.get("visibility") or "private",
            "default_branch": source.project.get("default_branch") or "main",
            "description": source.project.get("description") or "",
            **({} if group_id is None else {"namespace_id": group_id}),
        }
        if not self._report.dry_run:
            self._is(self._api.post("/projects", **wanted))
        self._report.carry(Item("project", path, Outcome.CREATED))

    @property
    def project(self) -> dict[str, Any]:
        """The project's document; nearly empty for one that is not made."""
        return self._report.project

    @property
    def exists(self) -> bool:
        """Whether it is made."""
        return bool(self._id)

    @property
    def repository(self) -> Access:
        """Its repository, for git."""
        return Access(clone_url(self._api.url, self.project["path_with_namespace"]), self._token)

    def get(self, route: str) -> dict[str, Any]:
        """Something of the project."""
        found: dict[str, Any] = self._api.get(f"/projects/{self._id}{route}")
        return found

    def listed(self, route: str) -> list[dict[str, Any]]:
        """A whole list of the project."""
        return self._api.listed(f"/projects/{self._id}{route}") if self.exists else []

    def carry(self, item: Item) -> dict[str, Any] | None:
        """Make an item as it is to be; what its first call answered, or None if one was refused, which is noted."""
        try:
            response = self._made(item)
        except GaveUp:
            raise
        except PerdureError as error:
            self._report.failed(item, str(error), item.if_refused)
            return None
        self._report.carry(item)
        return response

    def carry_at_once(self, items: Sequence[Item]) -> None:
        """Make items that one call can make; each alone if the server refuses that call."""
        calls = [item.calls[0] for item in items if item.calls]
        if not self._report.dry_run and calls:
            body = {name: value for call in calls for name, value in call.body.items()}
            try:
                self._api.call(calls[0].method, f"/projects/{self._id}{calls[0].route}", body)
            except GaveUp:
                raise
            except PerdureError:
                for item in items:
                    self.carry(item)
                return
        for item in items:
            self._report.carry(item)

    def _made(self, item: Item) -> dict[str, Any]:
        first: dict[str, Any] = {}
        for number, call in enumerate(() if self._report.dry_run else item.calls):
            this = call.of(first.get("id", "")) if number else call
            response = self._api.call(this.method, f"/projects/{self._id}{this.route}", this.body)
            first = first or response or {}
        return first

    def _made_groups(self, place: Place, source: Source) -> int | None:
        parent: int | None = None
        for path in place.groups:
            try:
                parent = int(self._api.get(f"/namespaces/{quote(path, safe='')}")["id"])
            except NotFound:
                parent = self._made_group(path, parent, source)
        return parent

    def _made_group(self, path: str, parent: int | None, source: Source) -> int | None:
        name = path.rpartition("/")[2]
        wanted: dict[str, Any] = {"name": name, "path": name, "visibility": "private", **_like(path, source)}
        if parent is not None:
            wanted["parent_id"] = parent
        made = None if self._report.dry_run else int(self._api.post("/groups", **wanted)["id"])
        self._report.carry(Item("group", path, Outcome.CREATED))
        return made

    def _is(self, project: dict[str, Any]) -> None:
        self._id, self._report.project = int(project["id"]), project


def _like(path: str, source: Source) -> dict[str, Any]:
    """Name, description and visibility of the source's group of the same path, if the project is in it."""
    if not f"{source.group}/".startswith(f"{path}/"):
        return {}
    try:
        found = source.group_at(path)
    except GaveUp:
        raise
    except PerdureError:
        return {}
    return {name: found[name] for name in ("name", "description", "visibility") if found.get(name)}
