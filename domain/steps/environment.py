"""The environment of steps: scopes, one within the other. Source: docs/reference/steps.md, "Environment"."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.steps.rendering import Known

LOG_LEVEL: Final = "CI_STEPS_LOG_LEVEL"


@dataclass(slots=True)
class Exports:
    """What steps of a job have exported: every later step has it, wherever it stands."""

    found: dict[str, Known] = field(default_factory=dict)

    def take(self, exported: Mapping[str, str]) -> None:
        """Note what a step exports; a later one wins."""
        self.found |= {name: Known(text) for name, text in exported.items()}


@dataclass(frozen=True, slots=True)
class Environment:
    """What a step finds in its environment. The first scope wins; exports come behind all that is written.

    `scopes` are, from the innermost: of the definition, of the call, of the sequence around it, and so on.
    """

    exports: Exports
    job: Mapping[str, Known]
    """Of the request, above the service's own."""
    scopes: tuple[Mapping[str, Known], ...] = ()

    def within(self, scope: Mapping[str, Known]) -> "Environment":
        """The same with one more scope, which wins."""
        return Environment(self.exports, self.job, (scope, *self.scopes)) if scope else self

    def variables(self) -> dict[str, Known]:
        """All variables, as they are now."""
        found = {**self.job, **self.exports.found}
        for scope in reversed(self.scopes):
            found |= scope
        return found
