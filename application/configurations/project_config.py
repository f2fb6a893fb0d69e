"""The configuration that a commit of a project has: its text, what messages call it, and where it came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from application.services import Services
from domain.errors import ConfigMissing, Invalid
from domain.projects.config_place import AUTO_DEVOPS, ConfigSource, Elsewhere, auto_devops, config_place
from git.repository import Repository
from models.rows.projects import ProjectRow


@dataclass(frozen=True, slots=True)
class Configuration:
    """A text to compile. `takes_inputs` is false where the inputs of the event are in the text already."""

    text: str
    file: str
    source: ConfigSource
    takes_inputs: bool = True


async def configuration_of(
    services: Services, project: ProjectRow, sha: str, repository: Repository, inputs: Mapping[str, Any]
) -> Configuration:
    """What `ci_config_path` of the project names, or Auto DevOps where it is on and the commit has no such file.

    Raises `ConfigMissing`, `Invalid`, `TooLarge`.
    """
    place = config_place(project.config_path)
    if isinstance(place, Elsewhere):
        return _elsewhere(place, project.config_path, inputs)
    raw = await repository.read_file(sha, place.path, limit=services.settings.sizes.config_bytes)
    if raw is None:
        if has_auto_devops(services, project):
            return _elsewhere(auto_devops(), AUTO_DEVOPS, inputs)
        raise ConfigMissing(f"Missing CI config file: commit {sha[:8]} has no {place.path}.")
    try:
        return Configuration(raw.decode(), place.path, ConfigSource.REPOSITORY)
    except UnicodeDecodeError as error:
        raise Invalid(f"{place.path} is not UTF-8 text (byte {error.start}).") from error


def has_auto_devops(services: Services, project: ProjectRow) -> bool:
    """Whether commits without configuration get ours: as the project says, else as the installation does."""
    mine = project.auto_devops_enabled
    return services.settings.auto_devops if mine is None else mine


def _elsewhere(place: Elsewhere, name: str, inputs: Mapping[str, Any]) -> Configuration:
    text = orjson.dumps(place.document(inputs)).decode()
    return Configuration(text, name, place.source, takes_inputs=not inputs)
