"""Where the configuration of a project is: a file of its commit, of another project, or behind an address.

GitLab's words for it (`ci_config_path`): `path`, `path@group/project`, `path@group/project:ref`, `https://...`. What is
not a file of the commit is a configuration that includes it, so that all rules of `include` hold for it, permissions
among them. Source: docs/reference/ci-yaml.md, "Includes"; docs/reference/pipelines.md, "Pipeline sources".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from domain.errors import FieldsInvalid

CONFIG_FILE: Final = ".gitlab-ci.yml"
AUTO_DEVOPS: Final = "Auto-DevOps.gitlab-ci.yml"
"""The template for commits without a configuration."""

_URL: Final = re.compile(r"https?://\S+")
_OF_PROJECT: Final = re.compile(r"(?P<path>[^@]+\.ya?ml)@(?P<project>[^@:\s]+)(?::(?P<ref>[^\s:]+))?")


class ConfigSource(StrEnum):
    """Where the configuration of a pipeline came from, in GitLab's words."""

    REPOSITORY = "repository_source"
    PROJECT = "external_project_source"
    REMOTE = "remote_source"
    AUTO_DEVOPS = "auto_devops_source"
    BRIDGE = "bridge_source"


@dataclass(frozen=True, slots=True)
class InRepository:
    """A file of the pipeline's own commit."""

    path: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A configuration that is one `include`."""

    include: Mapping[str, str]
    source: ConfigSource

    def document(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration; the inputs of the pipeline are those of the file."""
        return {"include": [{**self.include, **({"inputs": dict(inputs)} if inputs else {})}]}


ConfigPlace: TypeAlias = InRepository | Elsewhere


def config_place(text: str) -> ConfigPlace:
    """What `ci_config_path` says; empty is `.gitlab-ci.yml`. Raises `Invalid` for a path that leads out of the tree."""
    if _URL.fullmatch(text):
        return Elsewhere({"remote": text}, ConfigSource.REMOTE)
    found = _OF_PROJECT.fullmatch(text)
    path = found["path"] if found else text or CONFIG_FILE
    if path.startswith("/") or ".." in path:
        raise FieldsInvalid(ci_config_path="can't include leading slash or directory traversal.")
    if found is None:
        return InRepository(path)
    include = {"project": found["project"], "file": path, **({"ref": found["ref"]} if found["ref"] else {})}
    return Elsewhere(include, ConfigSource.PROJECT)


def config_ref(text: str, source: str, ref: str) -> str:
    """A configuration that is a file of its pipeline's commit, with the full ref: `.gitlab-ci.yml@refs/heads/main`.

    `text` is `ci_config_path`, `source` that of the pipeline, empty where nobody has looked yet. Empty for a
    configuration that comes from elsewhere.
    """
    place = config_place(text)
    if not isinstance(place, InRepository) or source not in {"", ConfigSource.REPOSITORY}:
        return ""
    return f"{place.path}@{ref}"


def config_ref_uri(server: str, project_path: str, ref: str) -> str:
    """A `config_ref` with its project and server, `HOST[:PORT]`: `ci.example/group/project//FILE@refs/heads/main`."""
    return f"{server}/{project_path}//{ref}"


def auto_devops() -> Elsewhere:
    """The configuration of a commit that has none."""
    return Elsewhere({"template": AUTO_DEVOPS}, ConfigSource.AUTO_DEVOPS)
