"""`coverage`: how a job's log tells how much of the code its tests ran.

Source: docs/reference/ci-yaml.md, "Job keywords".
"""

from domain.config.reading.field import Field
from domain.config.rules.patterns import Patterns
from domain.errors import Invalid


def read_coverage(field: Field, patterns: Patterns | None = None) -> str | None:
    """A pattern between slashes, with letters after them or not; kept as it is written.

    `patterns` are those of the configuration, with limits for all of them together.
    """
    try:
        text = field.value if isinstance(field.value, str) else ""
        (patterns or Patterns()).read(text)
    except Invalid as error:
        _, _, said = str(error).partition("must be ")
        field.fault(f"must be {said}" if said else str(error))
        return None
    return text
