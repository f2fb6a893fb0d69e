"""Clients that were written for GitLab, unchanged: what each finds, how it is called, and what is there at the end."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from tests.e2e.clients.packages import Installed
from tests.e2e.clients.project import ClientProject


@dataclass(frozen=True)
class Order:
    """A command with the variables of its environment."""

    argv: tuple[str, ...]
    variables: Mapping[str, str]


class Client(ABC):
    """A client. `name` is that of `packages`; `project` a name for what it works on."""

    name: ClassVar[str]
    project: ClassVar[str]

    @abstractmethod
    async def prepare(self, project: ClientProject) -> None:
        """Make what it finds."""

    @abstractmethod
    def order(self, project: ClientProject, installed: Installed) -> Order:
        """How it is called, in the working copy."""

    @abstractmethod
    async def check(self, project: ClientProject) -> None:
        """Raise AssertionError unless its work is there."""


class SemanticRelease(Client):
    """Its default configuration: it makes a tag and a release, and tells the merge requests of it."""

    name = "semantic-release"
    project = "released"
    assets: ClassVar[list[Any]] = []

    async def prepare(self, project: ClientProject) -> None:
        """A feature on `main`, and a repair by a merge request that is merged."""
        gitlab = ["@semantic-release/gitlab", {"gitlabUrl": project.url, "assets": self.assets}]
        others = ["@semantic-release/commit-analyzer", "@semantic-release/release-notes-generator"]
        config = {"branches": ["main"], "plugins": [*others, gitlab]}
        package = {"name": "x", "version": "0.0.0"}
        files = {"package.json": json.dumps(package), ".releaserc.json": json.dumps(config), "out.txt": "out\n"}
        await project.make({**files, ".gitignore": "node_modules\n"})
        await project.merge(await project.request("topic", {"more.txt": "more\n"}, "fix: more"))

    def order(self, project: ClientProject, installed: Installed) -> Order:
        """Its libraries are looked for beside what it works on."""
        (project.tree / "node_modules").symlink_to(installed.libraries)
        words = ("--no-ci", "--repository-url", f"{project.url}/{project.path}.git")
        return Order((str(installed.command("semantic-release")), *words), {"GITLAB_TOKEN": project.token})

    async def check(self, project: ClientProject) -> None:
        """A release with its links, and a word on the merge request."""
        (release,) = await project.below("GET", "/releases")
        assert release["tag_name"] == "v1.0.0"
        assert "first" in release["description"]
        assert len(release["assets"]["links"]) == len(self.assets)
        notes = await project.below("GET", "/merge_requests/1/notes")
        assert any("included in version 1.0.0" in note["body"] for note in notes)


class SemanticReleaseWithAssets(SemanticRelease):
    """With a file that it brings, and a link to one that is elsewhere."""

    project = "released-with-assets"
    assets: ClassVar[list[Any]] = ["out.txt", {"url": "https://files.example/a.zip", "label": "a.zip"}]

    async def check(self, project: ClientProject) -> None:
        """The file is where the release says."""
        await super().check(project)
        (release,) = await project.below("GET", "/releases")
        links = {link["name"]: link["url"] for link in release["assets"]["links"]}
        assert links["a.zip"] == "https://files.example/a.zip"
        assert links["out.txt"].startswith(f"{project.url}/-/project/{project.id}/uploads/")


class ReleaseIt(Client):
    """It commits, tags, pushes, brings a file and makes a release."""

    name = "release-it"
    project = "released-it"

    async def prepare(self, project: ClientProject) -> None:
        """A project with a file to bring."""
        config = {
            "npm": {"publish": False},
            "git": {"requireUpstream": False},
            "gitlab": {"release": True, "origin": project.url, "assets": ["out.txt"]},
        }
        package = json.dumps({"name": "x", "version": "0.0.0"})
        await project.make({"package.json": package, ".release-it.json": json.dumps(config), "out.txt": "out\n"})

    def order(self, project: ClientProject, installed: Installed) -> Order:
        """Without questions."""
        return Order((str(installed.command("release-it")), "1.0.0", "--ci"), {"GITLAB_TOKEN": project.token})

    async def check(self, project: ClientProject) -> None:
        """A release with the file."""
        (release,) = await project.below("GET", "/releases")
        assert (release["tag_name"], release["name"]) == ("1.0.0", "Release 1.0.0")
        assert [link["name"] for link in release["assets"]["links"]] == ["out.txt"]


class Renovate(Client):
    """It finds a newer version, and opens a merge request."""

    name = "renovate"
    project = "renovated"

    async def prepare(self, project: ClientProject) -> None:
        """A file that names a version of another project, which has a newer tag."""
        other = ClientProject(project.url, project.token, "dependency", project.folder)
        await other.make({"a.txt": "a\n"})
        for tag in ("1.0.0", "1.1.0"):
            await other.commit({"a.txt": tag}, f"feat: {tag}")
            await other.git("tag", tag)
        await other.git("push", "-q", "origin", "main", "1.0.0", "1.1.0")
        manager = {
            "customType": "regex",
            "fileMatch": ["^version.txt$"],
            "matchStrings": ["dep=(?<currentValue>.*?)\\n"],
            "depNameTemplate": other.path,
            "datasourceTemplate": "gitlab-tags",
            "registryUrlTemplate": project.url,
            "versioningTemplate": "semver",
        }
        config = {"enabledManagers": ["regex"], "customManagers": [manager], "prHourlyLimit": 0}
        await project.make({"version.txt": "dep=1.0.0\n", "renovate.json": json.dumps(config)})

    def order(self, project: ClientProject, installed: Installed) -> Order:
        """For this project alone."""
        base = str(project.folder / "renovate")
        variables = {
            "RENOVATE_PLATFORM": "gitlab",
            "RENOVATE_ENDPOINT": f"{project.api}/",
            "RENOVATE_TOKEN": project.token,
            "RENOVATE_BASE_DIR": base,
            "RENOVATE_CACHE_DIR": f"{base}/cache",
            "LOG_LEVEL": "info",
        }
        return Order((str(installed.command("renovate")), project.path), variables)

    async def check(self, project: ClientProject) -> None:
        """A merge request that brings the newer version."""
        (request,) = await project.below("GET", "/merge_requests")
        assert (request["state"], request["source_branch"]) == ("opened", "renovate/root-dependency-1.x")
        changes = await project.below("GET", f"/merge_requests/{request['iid']}/diffs")
        assert "+dep=1.1.0" in changes[0]["diff"]


class Danger(Client):
    """It looks at a merge request in a job, and writes a note on it."""

    name = "danger"
    project = "looked-at"

    async def prepare(self, project: ClientProject) -> None:
        """A merge request."""
        await project.make({"dangerfile.js": "message('hello'); warn(danger.git.created_files.join());\n"})
        await project.request("topic", {"more.txt": "more\n"}, "more")

    def order(self, project: ClientProject, installed: Installed) -> Order:
        """As a job of a merge request's pipeline calls it."""
        variables = {
            "DANGER_GITLAB_API_TOKEN": project.token,
            "DANGER_GITLAB_HOST": project.url,
            "DANGER_GITLAB_API_BASE_URL": project.url,
            "GITLAB_CI": "true",
            "CI_PROJECT_PATH": project.path,
            "CI_MERGE_REQUEST_PROJECT_PATH": project.path,
            "CI_MERGE_REQUEST_IID": "1",
            "CI_API_V4_URL": project.api,
        }
        return Order((str(installed.command("danger")), "ci", "--failOnErrors"), variables)

    async def check(self, project: ClientProject) -> None:
        """Its note tells what the file of rules said."""
        notes = await project.below("GET", "/merge_requests/1/notes")
        assert any("hello" in note["body"] and "more.txt" in note["body"] for note in notes)


class PythonSemanticRelease(Client):
    """It commits the version, tags, pushes and makes a release."""

    name = "python-semantic-release"
    project = "released-by-python"

    async def prepare(self, project: ClientProject) -> None:
        """A project with a version."""
        config = f"""
[project]
name = "x"
version = "0.0.0"
[tool.semantic_release]
version_toml = ["pyproject.toml:project.version"]
allow_zero_version = false
[tool.semantic_release.remote]
type = "gitlab"
domain = "{project.url}"
insecure = true
token = {{env = "GITLAB_TOKEN"}}
"""
        await project.make({"pyproject.toml": config})

    def order(self, project: ClientProject, installed: Installed) -> Order:
        """The whole of a release."""
        return Order((str(installed.command("semantic-release")), "version"), {"GITLAB_TOKEN": project.token})

    async def check(self, project: ClientProject) -> None:
        """The release of its tag."""
        (release,) = await project.below("GET", "/releases")
        assert release["tag_name"] == "v1.0.0"


class GitLabForm(Client):
    """It brings settings of a project to what a file says."""

    name = "gitlabform"
    project = "formed"

    async def prepare(self, project: ClientProject) -> None:
        """A project, and the file beside it."""
        await project.make({"a.txt": "a\n"})
        config = f"""
config_version: 3
gitlab: {{url: {project.url}, token: {project.token}}}
projects_and_groups:
  {project.path}:
    project_settings: {{description: kept, only_allow_merge_if_pipeline_succeeds: true, merge_method: ff}}
    variables:
      one: {{key: ONE, value: "1", masked: false}}
    branches:
      main: {{protected: true, push_access_level: maintainer, merge_access_level: maintainer}}
    tags:
      "v*": {{protected: true, create_access_level: maintainer}}
    hooks:
      "http://h.example/x": {{push_events: true, note_events: true, token: s}}
    schedules:
      nightly: {{ref: main, cron: "0 1 * * *", active: true}}
    badges:
      b: {{name: b, link_url: "https://a.example/l", image_url: "https://a.example/i"}}
"""
        (project.folder / "formed.yml").write_text(config)

    def order(self, project: ClientProject, installed: Installed) -> Order:
        """For this project alone."""
        config = str(project.folder / "formed.yml")
        return Order((str(installed.command("gitlabform")), "-c", config, project.path), {})

    async def check(self, project: ClientProject) -> None:
        """All of it is as the file says."""
        found = await project.call("GET", f"/projects/{project.id}")
        assert (found["description"], found["merge_method"]) == ("kept", "ff")
        assert found["only_allow_merge_if_pipeline_succeeds"] is True
        assert [one["key"] for one in await project.below("GET", "/variables")] == ["ONE"]
        (hook,) = await project.below("GET", "/hooks")
        assert (hook["push_events"], hook["note_events"]) == (True, True)
        assert [one["description"] for one in await project.below("GET", "/pipeline_schedules")] == ["nightly"]
        assert [one["name"] for one in await project.below("GET", "/protected_tags")] == ["v*"]
        assert [one["name"] for one in await project.below("GET", "/badges")] == ["b"]


CLIENTS: Final[tuple[Client, ...]] = (
    SemanticRelease(),
    SemanticReleaseWithAssets(),
    ReleaseIt(),
    Renovate(),
    Danger(),
    PythonSemanticRelease(),
    GitLabForm(),
)
