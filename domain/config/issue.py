"""A fault in a configuration, with its place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConfigIssue:
    """One fault in a CI configuration. `line` and `column` count from 1; 0 where the place is not known.

    `excerpt` has the lines that show the fault, where the one of the place does not; a caret is under the place.
    """

    message: str
    path: str = ""
    file: str = ".gitlab-ci.yml"
    line: int = 0
    column: int = 0
    excerpt: str = ""

    def __str__(self) -> str:
        """`file:line:column: message`, as compilers write it, and the excerpt in lines of its own."""
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: "
        return "\n".join(filter(None, (place + self.message, self.excerpt)))
