"""Steps that the step runner has itself: a folder each below `steps/builtin`.

A command whose first word is `step-runner` calls the step runner, wherever that is and whatever it is made of.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from domain.config.reading.spelling import nearest
from domain.errors import Invalid
from domain.steps.definition import Definition, Exec
from domain.steps.references import FILES, BuiltinReference, Reference
from steps.engine.finding import Found, found_in
from steps.own_program import own_command

FOLDER: Final = Path(__file__).resolve().parents[1] / "builtin"
ITSELF: Final = "step-runner"
CACHE_VARIABLE: Final = "PERDURE_STEP_CACHE"
"""By which a command that is the step runner learns where what was fetched is kept."""


@dataclass(frozen=True, slots=True)
class BuiltinFinder:
    """Finds them. `cache` is where what was fetched is kept; `passed` are variables of the job that commands get."""

    cache: Path
    passed: Collection[str] = ()

    def find(self, reference: Reference, folder: Path) -> Found:  # noqa: ARG002  # they are the same for all
        """The step of a name. Raises `Invalid` that lists what there is."""
        assert isinstance(reference, BuiltinReference)
        known = builtin_names()
        if reference.name not in known:
            did_you_mean = nearest([reference.name], known)
            raise Invalid(f"there is no built-in step `{reference.name}`{did_you_mean} (there are {', '.join(known)})")
        found = found_in(FOLDER / reference.name)
        return replace(found, definition=self._with_itself(found.definition))

    def _with_itself(self, definition: Definition) -> Definition:
        work = definition.work
        if not isinstance(work, Exec) or work.command[0] != ITSELF:
            return definition
        command = (*(_literal(word) for word in own_command("images")), *work.command[1:])
        env = {name: f"${{{{ vars.{name} }}}}" for name in self.passed}
        env[CACHE_VARIABLE] = _literal(str(self.cache))
        return replace(definition, work=replace(work, command=command), env={**definition.env, **env})


def builtin_names() -> list[str]:
    """What there is."""
    return sorted(str(file.parent.relative_to(FOLDER)) for file in FOLDER.rglob("*.yml") if file.name in FILES)


def _literal(text: str) -> str:
    """A text that holds no expressions."""
    return text.replace("${{", "\\${{")
