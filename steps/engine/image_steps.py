"""Steps in images of a registry: fetched once a version, by a process that is ended where the run has to end."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.errors import Invalid
from domain.steps.references import OciReference, Reference
from steps.engine.builtin_steps import CACHE_VARIABLE
from steps.engine.ending import Ending
from steps.engine.finding import Found, found_in
from steps.engine.programs import call
from steps.oci.kept_images import known, place_of, tree_of
from steps.oci.logins import LOGIN
from steps.own_program import own_command

FETCH_TIMEOUT: Final = 900.0
"""Seconds for an image."""


@dataclass(frozen=True, slots=True)
class ImageFinder:
    """Finds them; `cache` is where what was fetched is kept, `ending` ends a fetch that takes too long for the run.

    `login` are logins for registries that the job has; without any those of the environment count.
    """

    cache: Path
    ending: Ending
    login: str | None = None

    def find(self, reference: Reference, folder: Path) -> Found:  # noqa: ARG002  # where a text stands is the same to it
        """The step in an image. Raises `Invalid` that says what is missing, and `Ended`."""
        assert isinstance(reference, OciReference)
        place = place_of(self.cache, reference)
        digest = known(place, reference.tag) or self._fetched(reference)
        tree = tree_of(place, digest)
        return found_in(tree / reference.directory, reference.file, tree)

    def _fetched(self, reference: OciReference) -> str:
        command = [*own_command("images"), "fetch", reference.registry, reference.repository, reference.tag]
        environment = {CACHE_VARIABLE: str(self.cache), **({LOGIN: self.login} if self.login is not None else {})}
        said = call(command, environment, self.ending, FETCH_TIMEOUT)
        if said.code:
            image = f"{reference.registry}/{reference.repository}:{reference.tag}"
            raise Invalid(f"{image} cannot be fetched: {said.last_word}")
        return said.output
