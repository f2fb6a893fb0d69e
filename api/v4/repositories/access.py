"""The repository of a project, and the commits that calls name in it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from api.deps import ServicesDep
from api.v4.access import ProjectDep
from api.v4.encoded_paths import decoded
from application.access import ProjectAccess
from domain.errors import NotFound
from git.reading.revision import commit_named
from git.repository import Repository
from models.rows.projects import ProjectRow


@dataclass(frozen=True, slots=True)
class RepositoryAccess:
    """The repository of a project that the caller may read."""

    project: ProjectAccess
    git: Repository
    url: str

    @property
    def row(self) -> ProjectRow:
        """The project's row."""
        return self.project.row

    @property
    def path(self) -> str:
        """The project's full path."""
        return str(self.project.row.full_path)

    async def commit(self, name: str, error: str = "Commit Not Found") -> str:
        """The commit that a branch, tag or sha leads to; the default branch's for an empty name. Raises `NotFound`."""
        sha = await commit_named(self.git, name or f"refs/heads/{self.row.default_branch}")
        if sha is None:
            raise NotFound(error)
        return sha


async def repository_of(project: ProjectDep, services: ServicesDep) -> RepositoryAccess:
    """The repository of the project of a path. Raises `NotFound`."""
    return RepositoryAccess(project, services.repositories.get(project.row.id), services.settings.url)


RepositoryDep = Annotated[RepositoryAccess, Depends(repository_of)]


async def commit_of(sha: str, repository: RepositoryDep) -> str:
    """The commit that the last name of a path leads to. Raises `NotFound`."""
    return await repository.commit(decoded(sha))


CommitDep = Annotated[str, Depends(commit_of)]
