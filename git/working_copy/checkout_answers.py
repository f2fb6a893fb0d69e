"""What a working copy answers to the compiler: its own files, its tree, and what changed in it.

Everything else (other projects, addresses, templates) is asked elsewhere. Source: docs/reference/ci-yaml.md,
"Includes", "Changes and exists".
"""

from dataclasses import dataclass

from domain.config.sources import (
    HERE,
    Absent,
    Answer,
    ChangedPaths,
    Fetched,
    LocalFile,
    Origin,
    Paths,
    ProjectFile,
    Request,
    Tree,
)
from domain.errors import Invalid, TooLarge
from git.working_copy.checkout import Checkout


@dataclass(frozen=True, slots=True)
class CheckoutAnswers:
    """The requests that a working copy can answer. `HERE` are its files as they are now, committed or not."""

    checkout: Checkout

    def answer(self, request: Request) -> Answer | None:
        """The answer; None for what this working copy cannot know."""
        try:
            match request:
                case LocalFile(path, origin) if origin == HERE:
                    return _fetched(self.checkout.read(path), HERE)
                case LocalFile(path, origin) if self._is_mine(origin.project):
                    return _fetched(self.checkout.read_at(origin.sha, path), origin)
                case ProjectFile(project, path, ref) if self._is_mine(project):
                    return self._project_file(path, ref)
                case Tree(origin, project, ref) if origin == HERE and not project:
                    return Paths(self.checkout.paths)
                case Tree(origin, project, ref) if self._is_mine(project or origin.project):
                    return self._tree(ref if project else origin.sha)
                case ChangedPaths(compare_to):
                    return self._changed(compare_to)
                case _:
                    return None
        except (Invalid, TooLarge) as error:
            return Absent(str(error))

    def _is_mine(self, project: str) -> bool:
        """Paths of projects do not differ by case."""
        return self.checkout.is_repository and project.lower() == self.checkout.project_path.lower()

    def _project_file(self, path: str, ref: str) -> Answer:
        project = self.checkout.project_path
        sha = self.checkout.resolve(ref or self.checkout.default_branch)
        if sha is None:
            return self._unknown(ref)
        content = self.checkout.read_at(sha, path)
        if content is None:
            return Absent(f"Project `{project}` file `{path}` does not exist!")
        return _fetched(content, Origin(project, sha))

    def _tree(self, ref: str) -> Answer:
        sha = self.checkout.resolve(ref or self.checkout.default_branch)
        return self._unknown(ref) if sha is None else Paths(self.checkout.paths_at(sha))

    def _unknown(self, ref: str) -> Absent:
        return Absent(f"Project `{self.checkout.project_path}` reference `{ref or 'HEAD'}` does not exist!")

    def _changed(self, compare_to: str) -> Answer:
        """Against another ref: since the branch left it. Where there is nothing to compare with, it is not known."""
        if not self.checkout.is_repository:
            return Paths(known=False)
        base = self.checkout.base()
        if compare_to:
            other = self.checkout.resolve(compare_to)
            if other is None:
                return Absent()
            base = self.checkout.common_ancestor(other) or other
        return Paths(known=False) if base is None else Paths(self.checkout.changed_since(base))


def _fetched(content: bytes | None, origin: Origin) -> Answer:
    if content is None:
        return Absent()
    try:
        return Fetched(content.decode(), origin)
    except UnicodeDecodeError as error:
        return Absent(f"The file is not UTF-8 text (byte {error.start}).")
